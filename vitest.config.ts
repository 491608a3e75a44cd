import { defineConfig } from "vitest/config";
import { closingLineReporter } from "./scripts/closing-line-reporter.ts";

export default defineConfig({
  test: {
    reporters: ["default", closingLineReporter],
    pool: "threads",
    isolate: false,
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
