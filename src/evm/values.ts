// The value types of the specification. The schemas only check; values are passed on as the caller's text.
import { z } from "zod";

const QUANTITY = /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/;
const DATA = /^0x[0-9a-fA-F]*$/;

/** The argument that zod passes to a function that makes an error text. */
export type Issue = { readonly input?: unknown };

const hexString = () => z.string({ error: "want a hex string" });

/** An integer of at most 256 bits: `0x0`, or hex digits of any case without leading zeros. */
export const quantity = hexString()
  .regex(QUANTITY, { error: (issue) => whyNoQuantity(issue) })
  .meta({ id: "Quantity", description: "A hexadecimal integer without leading zeros." });

/** Any number of bytes. */
export const data = hexString()
  .regex(DATA, { error: (issue) => whyNoData(issue) })
  .refine((text) => text.length % 2 === 0, { error: "hex string of odd length" })
  // A single pattern for JSON Schema. As a check it would be slow for large values, and hang for huge ones.
  .meta({
    id: "Data",
    description: "A hexadecimal byte string.",
    pattern: "^0x([0-9a-fA-F]{2})*$",
  });

/** Exactly `length` bytes. */
const bytes = (length: number) =>
  hexString().regex(new RegExp(`^0x[0-9a-fA-F]{${length * 2}}$`), {
    error: (issue) => whyNoData(issue) ?? `want ${length} bytes`,
  });

export const hash = bytes(32).meta({ id: "Hash", description: "32 bytes." });
export const address = bytes(20).meta({ id: "Address", description: "20 bytes." });
export const bloom = bytes(256).meta({ id: "Bloom", description: "A 256-byte bloom filter." });
export const proofOfWorkNonce = bytes(8).meta({ id: "Nonce", description: "8 bytes." });

/** A storage slot: its 32 bytes, or a shorter QUANTITY or DATA, which nodes accept as well. */
export const slot = hexString()
  .regex(/^0x[0-9a-fA-F]{1,64}$/, { error: (issue) => whyNoData(issue) ?? "want at most 32 bytes" })
  .meta({ id: "Slot", description: "A storage slot of at most 32 bytes." });

export const toQuantity = (value: number | bigint): string => `0x${value.toString(16)}`;

/** Exact up to 2^53; a larger value stays larger than any number that a chain can reach. */
export const toNumber = (value: string): number => Number(value);

/** The number that a node wrote in hex, with or without leading zeros; undefined if it is invalid or too large. */
export function numberIn(value: unknown): number | undefined {
  const number = typeof value === "string" && /^0x[0-9a-f]+$/i.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export const isQuantity = (value: unknown): value is string =>
  typeof value === "string" && QUANTITY.test(value);
export const isData = (value: unknown): value is string =>
  typeof value === "string" && value.length % 2 === 0 && DATA.test(value);
export const isHash = (value: unknown): value is string =>
  typeof value === "string" && value.length === 66 && DATA.test(value);

const textOf = ({ input }: Issue): string => (typeof input === "string" ? input : "");

/** The reason in geth's words, which libraries and people know. */
export function whyNoQuantity(issue: Issue): string {
  const text = textOf(issue);
  if (!text.startsWith("0x")) return "hex string without 0x prefix";
  if (text.length === 2) return "empty hex string, want 0x0 for zero";
  if (!DATA.test(text)) return "invalid hex string";
  return text[2] === "0" ? "hex number with leading zero digits" : "hex number > 256 bits";
}

/** undefined when the digits are valid, so that only their number can be wrong. */
function whyNoData(issue: Issue): string | undefined {
  const text = textOf(issue);
  if (!text.startsWith("0x")) return "hex string without 0x prefix";
  return DATA.test(text) ? undefined : "invalid hex string";
}
