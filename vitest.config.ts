import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";

const measured = [
  "test/faults/**/*.test.ts",
  "test/traces/large.test.ts",
  "test/chain/huge-block.test.ts",
];

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
    // Most tests start processes: a worker for two cores, and two on small machines, since they wait too.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() / 2)),
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
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // One by one, and after all others: what they measure means nothing beside them.
        extends: true,
        test: {
          name: "measured",
          include: measured,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
