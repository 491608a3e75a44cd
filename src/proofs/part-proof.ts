// Whether one part of a block is proven.
import { sameHex, shown } from "./json.ts";

export type PartProof =
  | { readonly kind: "proven" }
  /** Foreign to Ethereum, or not fetched: nothing can be said. */
  | { readonly kind: "unproven" }
  | { readonly kind: "failed"; readonly reason: string };

export const proven: PartProof = { kind: "proven" };
export const unproven: PartProof = { kind: "unproven" };

/** What differs on a network that may have rules of its own is no lie yet. */
export const differs = (reason: string, isForeign: boolean): PartProof =>
  isForeign ? unproven : { kind: "failed", reason };

export const compare = (stated: unknown, computed: string, isForeign: boolean): PartProof =>
  sameHex(stated, computed)
    ? proven
    : differs(`says ${shown(stated)}, is ${shown(computed)}`, isForeign);
