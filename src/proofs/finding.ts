// What was found out about one part of a block.
import { sameHex, shown } from "./json.ts";

export type Finding =
  | { readonly kind: "proven" }
  /** Foreign to Ethereum, or not fetched: nothing can be said. */
  | { readonly kind: "unproven" }
  | { readonly kind: "failed"; readonly reason: string };

export const proven: Finding = { kind: "proven" };
export const unproven: Finding = { kind: "unproven" };

/** What differs on a network that may have rules of its own is no lie yet. */
export const differs = (reason: string, isForeign: boolean): Finding =>
  isForeign ? unproven : { kind: "failed", reason };

export const compare = (stated: unknown, computed: string, isForeign: boolean): Finding =>
  sameHex(stated, computed)
    ? proven
    : differs(`says ${shown(stated)}, is ${shown(computed)}`, isForeign);
