import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";
import { seedOf } from "./scripts/seed.ts";

/** Of these `npm test` does a little, and `npm run test:deep` all. */
const asksForDepth = globSync("test/**/*.test.ts").filter((path) =>
  readFileSync(path, "utf8").includes("atDepth("),
);

/** They tell how long others wait, and what is held for them: one by one, after all others, in `npm run test:deep` only. */
const oneByOne = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });
const alone = globSync(["test/fairness/*.test.ts", "test/memory/*.test.ts"]);

/** What they measure is of the whole machine. */
const measured = globSync([
  "test/faults/{all-down,mixtures,scenarios}.test.ts",
  "test/traces/large.test.ts",
  "test/chain/huge-block.test.ts",
  "test/bench/*.test.ts",
]);
/** In `npm run test:deep` only: they kill and wait for what comes back, wait for npm, or try much. */
const long = globSync([
  "test/package/*.test.ts",
  "test/access/{keys-fleet,usage-kill}.test.ts",
  "test/chain/{crash,writer-thread}.test.ts",
  "test/cli/identify.test.ts",
  "test/console/*.test.ts",
  "test/devnet/devnet.test.ts",
  "test/disk/{damaged,full-disk}.test.ts",
  "test/epochs/{clients,failover,old-node}.test.ts",
  "test/filters/survival.test.ts",
  "test/fleet/{limits,redis-away,rolling-restart,servers}.test.ts",
  "test/processes/{ending,signals,stale-head,unexpected-errors}.test.ts",
  "test/server/{slow-callers,tracing-collector}.test.ts",
  "test/state/redis-failover.test.ts",
  "test/subscriptions/{many-sockets,resuming,slow-readers}.test.ts",
  "test/traces/live/{geth,live}.test.ts",
]);
const without = (some: readonly string[], others: readonly string[]): string[] =>
  some.filter((path) => !others.includes(path));

/** It ends a test that stands still, and measures none: on a busy machine one of ten seconds took a minute. */
const ENDS_AFTER_MS = 120_000;

/** Each by itself, and with each other in whatever order. */
const units = {
  include: ["{src,web}/**/*.test.ts", "packages/*/src/**/*.test.ts"],
  testTimeout: ENDS_AFTER_MS,
  hookTimeout: ENDS_AFTER_MS,
};

/** The gateway as a process begins with its bundle. */
const overProcesses = {
  testTimeout: ENDS_AFTER_MS,
  hookTimeout: ENDS_AFTER_MS,
  globalSetup: "scripts/bundle.mjs",
  setupFiles: ["test/support/seed.ts", "test/support/failed-logs.ts"],
};

/** What is done again and again there takes a quarter of a minute, and on one busy core two minutes. */
const inDepth = { ...overProcesses, testTimeout: 3 * ENDS_AFTER_MS };

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
    // Most tests start processes, and wait for them: three workers keep two cores busy.
    maxWorkers: Math.max(3, Math.ceil(availableParallelism() / 2)),
    setupFiles: "test/support/seed.ts",
    provide: { isDeep: false, seed: seedOf("quick") },
    projects: [
      {
        extends: true,
        test: { name: "unit", ...units },
      },
      {
        extends: true,
        test: {
          name: "shuffled",
          ...units,
          runner: "test/support/shuffled-runner.ts",
          provide: { isDeep: false, seed: seedOf("deep") },
        },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [...without(measured, asksForDepth), ...long, ...alone],
          ...overProcesses,
        },
      },
      {
        extends: true,
        test: {
          name: "deep",
          include: [...without(asksForDepth, [...measured, ...alone, ...long]), ...long],
          provide: { isDeep: true, seed: seedOf("deep") },
          ...inDepth,
        },
      },
      {
        extends: true,
        test: { name: "alone", include: alone, ...oneByOne(1), ...overProcesses },
      },
      {
        extends: true,
        test: {
          name: "measured",
          include: measured,
          provide: { isDeep: true, seed: seedOf("deep") },
          ...oneByOne(2),
          ...inDepth,
        },
      },
    ],
  },
});
