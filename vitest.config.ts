import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
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
          exclude: ["test/faults/**"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Alone, and after all others: what it measures means nothing beside them.
        extends: true,
        test: {
          name: "faults",
          include: ["test/faults/**/*.test.ts"],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
