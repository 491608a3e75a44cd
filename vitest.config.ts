import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";
import { seedOf } from "./scripts/seed.ts";

/** Tests of which `npm test` runs a part, and `npm run test:deep` all. */
const asksForDepth = globSync("test/**/*.test.ts").filter((path) =>
  readFileSync(path, "utf8").includes("atDepth("),
);

/** Tests of fairness and memory: they run one by one, after all others, in `npm run test:deep` only. */
const oneByOne = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });
const alone = globSync(["test/fairness/*.test.ts", "test/memory/*.test.ts"]);

/** Tests that measure the whole machine. */
const measured = globSync([
  "test/faults/{all-down,mixtures,scenarios}.test.ts",
  "test/traces/large.test.ts",
  "test/chain/{answers-of-odd-chains,huge-block}.test.ts",
  "test/bench/*.test.ts",
]);
/** Long tests, in `npm run test:deep` only: they kill processes and wait for restarts, wait for npm, or try many cases. */
const long = globSync([
  "test/package/*.test.ts",
  "test/access/{keys-fleet,usage-kill}.test.ts",
  "test/chain/{another-chain,crash,without-nodes,writer-thread}.test.ts",
  "test/cli/identify.test.ts",
  "test/console/*.test.ts",
  "test/devnet/devnet.test.ts",
  "test/disk/{damaged,full-disk,nearly-full-disk}.test.ts",
  "test/epochs/{clients,failover,old-node}.test.ts",
  "test/filters/{passing,survival}.test.ts",
  "test/fleet/{limits,redis-away,rolling-restart,servers}.test.ts",
  "test/processes/{ending,signals,stale-head,unexpected-errors}.test.ts",
  "test/server/{slow-callers,tracing-collector}.test.ts",
  "test/state/redis-failover.test.ts",
  "test/subscriptions/{many-sockets,resuming,slow-readers}.test.ts",
  "test/traces/live/{geth,live}.test.ts",
]);
const without = (some: readonly string[], others: readonly string[]): string[] =>
  some.filter((path) => !others.includes(path));

/** Ends a test that hangs. It must not measure speed: on a busy machine a test of ten seconds took a minute. */
const ENDS_AFTER_MS = 120_000;

/** Unit tests: they pass alone, and together in any order. */
const units = {
  include: ["{src,web}/**/*.test.ts", "packages/*/src/**/*.test.ts"],
  testTimeout: ENDS_AFTER_MS,
  hookTimeout: ENDS_AFTER_MS,
};

/** Tests over real processes: the gateway starts from its bundle. */
const overProcesses = {
  testTimeout: ENDS_AFTER_MS,
  hookTimeout: ENDS_AFTER_MS,
  globalSetup: "scripts/bundle.mjs",
  setupFiles: ["test/support/seed.ts", "test/support/failed-logs.ts"],
};

/** Deep tests repeat their cases for a quarter of a minute, and for two minutes on one busy core. */
const inDepth = { ...overProcesses, testTimeout: 3 * ENDS_AFTER_MS };

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
    // Most tests start processes and wait for them: three workers keep two cores busy.
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
