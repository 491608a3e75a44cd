// BASE32 addresses of epoch networks (CIP-37): a network prefix, optional parts, 20 bytes and a checksum.
import { z } from "zod";

type ConfluxAddress = {
  /** The 20 bytes as hex digits. */
  readonly hex: string;
  /** In lower case and without the type: equal addresses have equal texts. */
  readonly short: string;
  /** In lower case and with the type, the other form that nodes write. */
  readonly verbose: string;
};

/** `why` must read well behind "invalid argument 1: ". */
type AddressReading =
  | { readonly kind: "address"; readonly address: ConfluxAddress }
  | { readonly kind: "invalid"; readonly why: string };

const WANTED_ADDRESS = "want a BASE32 address, such as cfx:…";

/** Excludes i, l, o and q: Conflux's own library reads them as zeros, so one address could have several texts. */
const BODY = /^[0-9a-hjkmnprs-z]{42}$/;
/** The prefix of an address. A network id is at most 4294967295. */
const CLAIM = /^(cfx|cfxtest|net[0-9]{1,10}):/i;

/** Whether a text claims to be a BASE32 address, valid or not. */
export const looksLikeAddress = (text: string): boolean => CLAIM.test(text);

/** An address parameter. The addresses of all parameters of a call are checked together, with `wrongAddressIn`. */
export const confluxAddress = z
  .string({ error: WANTED_ADDRESS })
  .refine(looksLikeAddress, { error: WANTED_ADDRESS })
  .meta({ id: "ConfluxAddress", description: "A BASE32 address (CIP-37)." });

/**
 * Reads an address by the rules of docs/decisions/0035: letters in one case, this network's prefix, the real type if it
 * names a type, and a valid checksum.
 * @param networkId Left out: any network is accepted.
 */
export function readAddress(text: string, networkId?: number): AddressReading {
  if (!looksLikeAddress(text)) return invalid(WANTED_ADDRESS);
  if (/[a-z]/.test(text) && /[A-Z]/.test(text)) return invalid("mixed case");
  const [prefix = "", ...parts] = toLowerCase(text).split(":");
  const wantedPrefix = networkId === undefined ? prefix : prefixOf(networkId);
  if (prefix !== wantedPrefix) return invalid(`wrong network: want ${wantedPrefix}, not ${prefix}`);
  const body = parts.pop() ?? "";
  if (!BODY.test(body) || !parts.every(isOptional)) return invalid(WANTED_ADDRESS);

  const short = `${prefix}:${body}`;
  const decoded = decode(short);
  if (!decoded) return invalid("wrong checksum");
  const type = `type.${decoded.type}`;
  const wrongType = parts.find((part) => part.startsWith("type.") && part !== type);
  if (wrongType) return invalid(`wrong type: this is an address of ${type}`);
  const verbose = `${prefix}:${type}:${body}`;
  return { kind: "address", address: { hex: decoded.hex, short, verbose } };
}

/** The error of the first invalid address in a JSON value, among all strings that claim to be addresses. */
export function wrongAddressIn(value: unknown, networkId: number): string | undefined {
  // Without recursion, because JSON may nest deeper than the stack allows.
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === "string" && looksLikeAddress(next)) {
      const reading = readAddress(next, networkId);
      if (reading.kind === "invalid") return reading.why;
    }
    if (typeof next === "object" && next !== null) {
      for (const member of Object.values(next).reverse()) rest.push(member);
    }
  }
  return undefined;
}

function prefixOf(networkId: number): string {
  if (networkId === 1029) return "cfx";
  return networkId === 1 ? "cfxtest" : `net${networkId}`;
}

/** Lowers only A to Z: other characters, such as the Kelvin sign, would become ASCII letters. */
const toLowerCase = (text: string): string =>
  text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** CIP-37: unknown parts are ignored, but nodes require exactly one dot in each. */
const isOptional = (part: string): boolean => part.split(".").length === 2;

const invalid = (why: string): AddressReading => ({ kind: "invalid", why });

const ALPHABET = "abcdefghjkmnprstuvwxyz0123456789";
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

/** By the first four bits of the address, a hex digit. */
const TYPES: Readonly<Record<string, string>> = { 0: "builtin", 1: "user", 8: "contract" };
const NULL_ADDRESS = `0x${"0".repeat(40)}`;

/** @returns undefined when the checksum, the version or the padding is wrong. */
function decode(short: string): { hex: string; type: string } | undefined {
  const [prefix = "", body = ""] = short.split(":");
  const values = [...body].map((character) => VALUES.get(character) ?? 0);
  const letters = [...prefix].map((letter) => letter.charCodeAt(0) & 31);
  if (!isChecked([...letters, 0, ...values])) return undefined;
  // A zero version byte, 20 bytes, two bits of padding, then a checksum of eight values.
  const bits = values
    .slice(0, -8)
    .map((value) => value.toString(2).padStart(5, "0"))
    .join("");
  if (!bits.startsWith("00000000") || !bits.endsWith("00")) return undefined;
  const hex = `0x${BigInt(`0b${bits.slice(8, -2)}`)
    .toString(16)
    .padStart(40, "0")}`;
  return { hex, type: hex === NULL_ADDRESS ? "null" : (TYPES[hex[2] ?? ""] ?? "unknown") };
}

/** The generator of CIP-37's code: each 40-bit value as two 20-bit halves, since bitwise operators take 32 bits. */
const GENERATOR = [
  [0x98f2b, 0xc8e61],
  [0x79b76, 0xd99e2],
  [0xf33e5, 0xfb3c4],
  [0xae2ea, 0xbe2a8],
  [0x1e4f4, 0x3e470],
] as const;

function isChecked(values: readonly number[]): boolean {
  let high = 0;
  let low = 1;
  for (const value of values) {
    const top = high >>> 15;
    high = ((high & 0x7fff) << 5) | (low >>> 15);
    low = ((low & 0x7fff) << 5) ^ value;
    for (const [bit, [highHalf, lowHalf]] of GENERATOR.entries()) {
      if (((top >>> bit) & 1) === 0) continue;
      high ^= highHalf;
      low ^= lowHalf;
    }
  }
  return high === 0 && low === 1;
}
