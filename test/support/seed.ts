// Properties are tried with the run's seed: the same in each `npm test`, another in each `npm run test:deep`.
// A failure names it, and so does the run; HEADGATE_SEED repeats a run.
import { configureGlobal, readConfigureGlobal } from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    readonly seed: number;
  }
}

// Test files with other seeds may share a worker: this runs before each of them.
configureGlobal({ ...readConfigureGlobal(), seed: inject("seed") });
