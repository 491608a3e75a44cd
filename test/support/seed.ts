// Property tests use the run's seed: constant in `npm test`, different in each `npm run test:deep`. A failure names
// it, and so does the run; HEADGATE_SEED repeats a run.
import { configureGlobal, readConfigureGlobal } from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    readonly seed: number;
  }
}

// Test files with other seeds may share a worker, so this runs before each of them.
configureGlobal({ ...readConfigureGlobal(), seed: inject("seed") });
