// Reads JSON that a node wrote without trusting it.
import type { Fit } from "../evm/chains/block-rules.ts";

export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Some nodes write null for an absent member. */
export const isAbsent = (value: unknown): value is undefined | null =>
  value === undefined || value === null;

/** Whether two hex texts mean the same. Nodes differ in the case of digits, but not in the case of `0x`. */
export const sameHex = (left: unknown, right: unknown): boolean =>
  typeof left === "string" &&
  typeof right === "string" &&
  (left === right ||
    (left.length === right.length &&
      left[1] === right[1] &&
      left.toLowerCase() === right.toLowerCase()));

/** A value as part of a reason: at most one line of the node's text. */
export const shown = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, 66) : value === null ? "null" : typeof value;

// The result of proving one part of a block.

export type PartProof =
  | { readonly kind: "proven" }
  /** The part is foreign to Ethereum, or was not fetched: it may be right or wrong. */
  | { readonly kind: "unproven" }
  /** The part does not fit the rules of Ethereum, where nothing shows that these rules apply. */
  | { readonly kind: "odd"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

export const proven: PartProof = { kind: "proven" };
export const unproven: PartProof = { kind: "unproven" };

/** A difference is a lie where the part must fit, odd where it should, and nothing where it may. */
export function differs(reason: string, fit: Fit): PartProof {
  if (fit === "may") return unproven;
  return { kind: fit === "must" ? "failed" : "odd", reason };
}

/** As `fit`, but nothing is a lie. */
export const softer = (fit: Fit): Fit => (fit === "must" ? "should" : fit);

export const compare = (stated: unknown, computed: string, fit: Fit): PartProof =>
  sameHex(stated, computed) ? proven : differs(`says ${shown(stated)}, is ${shown(computed)}`, fit);
