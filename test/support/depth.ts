// The amount of random or repeated work in a run: a part in `npm test`, all in `npm run test:deep`. Both run the test
// files that use this (vitest.config.ts).
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    readonly isDeep: boolean;
  }
}

/** Reads the depth on each call: test files of both kinds may share a worker, and thus this module. */
export const atDepth = <Amount>(little: Amount, all: Amount): Amount =>
  inject("isDeep") ? all : little;
