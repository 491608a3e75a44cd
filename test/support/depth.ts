// How much of what is done by chance, or again and again, a run does: a little in `npm test`, all of it in
// `npm run test:deep`. A test file that asks is run by both (vitest.config.ts).
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    readonly isDeep: boolean;
  }
}

/** Asked again each time: test files of both kinds may share a worker, and so this module. */
export const atDepth = <Amount>(little: Amount, all: Amount): Amount =>
  inject("isDeep") ? all : little;
