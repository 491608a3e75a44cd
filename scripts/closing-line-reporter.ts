// Begins a test run with its seed, and ends it with one line for a person or a machine: `N passed, N failed`. Where CI
// is set, a skipped test fails the run: there all that tests need is installed.
import type { Reporter, TestModule, TestSpecification } from "vitest/node";

export const closingLineReporter: Reporter = {
  onTestRunStart(files: readonly TestSpecification[]): void {
    const seeds = new Set(files.map(({ project }) => project.getProvidedContext().seed));
    process.stdout.write(`chance begins with seed ${[...seeds].join(" and ")}\n`);
  },

  onTestRunEnd(modules: readonly TestModule[], errors): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A file that vitest could not collect has no tests, but it has failed.
      if (module.state() === "failed" && module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    if (skipped && process.env["CI"]) process.exitCode = 1;
    process.stdout.write(
      `${count.passed} passed, ${count.failed + count.pending} failed${skipped}\n`,
    );
  },
};
