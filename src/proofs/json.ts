// Reads what a node wrote without trusting it.

export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** null is how some nodes write that a member is absent. */
export const isAbsent = (value: unknown): value is undefined | null =>
  value === undefined || value === null;

/** Whether two hex texts mean the same. Nodes differ in the case of digits only, not in that of `0x`. */
export const sameHex = (left: unknown, right: unknown): boolean =>
  typeof left === "string" &&
  typeof right === "string" &&
  (left === right ||
    (left.length === right.length &&
      left[1] === right[1] &&
      left.toLowerCase() === right.toLowerCase()));

/** A part of a reason: never more than a line of what the node wrote. */
export const shown = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, 66) : value === null ? "null" : typeof value;

// Whether one part of a block is proven.

export type PartProof =
  | { readonly kind: "proven" }
  /** It is foreign to Ethereum, or was not fetched: nothing can be said. */
  | { readonly kind: "unproven" }
  | { readonly kind: "failed"; readonly reason: string };

export const proven: PartProof = { kind: "proven" };
export const unproven: PartProof = { kind: "unproven" };

/** On a network that may have rules of its own, a difference is no lie yet. */
export const differs = (reason: string, isForeign: boolean): PartProof =>
  isForeign ? unproven : { kind: "failed", reason };

export const compare = (stated: unknown, computed: string, isForeign: boolean): PartProof =>
  sameHex(stated, computed)
    ? proven
    : differs(`says ${shown(stated)}, is ${shown(computed)}`, isForeign);
