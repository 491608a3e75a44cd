import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";

/** What they measure means nothing beside others. */
const measured = [
  "test/faults/{all-down,mixtures,scenarios}.test.ts",
  "test/traces/large.test.ts",
  "test/chain/huge-block.test.ts",
];

/** Of these `npm test` does a little, and `npm run test:deep` all. */
const asksForDepth = globSync("test/**/*.test.ts").filter((path) =>
  readFileSync(path, "utf8").includes("atDepth("),
);

const longTimeouts = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
    // Most tests start processes, and wait for them: three workers keep two cores busy.
    maxWorkers: Math.max(3, Math.ceil(availableParallelism() / 2)),
    provide: { isDeep: false },
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["src/**/*.test.ts"], testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: measured,
          ...longTimeouts,
        },
      },
      {
        extends: true,
        test: { name: "deep", include: asksForDepth, provide: { isDeep: true }, ...longTimeouts },
      },
      {
        extends: true,
        test: {
          name: "measured",
          include: measured,
          fileParallelism: false,
          // After all others.
          sequence: { groupOrder: 1 },
          provide: { isDeep: true },
          ...longTimeouts,
        },
      },
    ],
  },
});
