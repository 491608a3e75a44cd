// The gas that precompiled contracts take, where a transaction that calls one directly does not show it: the sender paid
// the floor of EIP-7623, or less the refunds of EIP-7702. No tracer has a step of such a contract.
import { isData, isQuantity } from "../evm/values.ts";
import { isAbsent, type Json } from "../proofs/json.ts";

const TRANSACTION = 21_000;
const FLOOR_OF_TOKEN = 10;
const TOKENS_OF_BYTE = 4;

/** The least gas that a transaction with this data pays since Prague (EIP-7623); undefined when no data can be read. */
export function floorGas(transaction: Json): number | undefined {
  const input = transaction["input"] ?? transaction["data"] ?? "0x";
  if (!isData(input)) return undefined;
  let tokens = 0;
  for (const byte of bytesOf(input)) tokens += byte === 0 ? 1 : TOKENS_OF_BYTE;
  return TRANSACTION + FLOOR_OF_TOKEN * tokens;
}

/** Whether the transaction sets code, which gives refunds for accounts that exist (EIP-7702). */
export const setsCode = ({ authorizationList: list }: Json): boolean =>
  !isAbsent(list) && Object(list).length > 0;

export type PaidGas = {
  /** The gas that the sender paid for, as a QUANTITY. */
  readonly paid: unknown;
  readonly floorGas?: number | undefined;
  readonly setsCode?: boolean | undefined;
};

/** Whether the gas that the sender paid for is not what execution took, by the rules since Prague. */
export const isBeyondExecution = ({ paid, floorGas: floor, setsCode: sets }: PaidGas): boolean =>
  sets === true || (floor !== undefined && isQuantity(paid) && BigInt(paid) === BigInt(floor));

const wordsIn = (bytes: number): number => Math.ceil(bytes / 32);

/** By the contract's number, from the length of its input in bytes; by the rules of Prague. */
const PRICES: Readonly<Record<number, (bytes: number) => number>> = {
  1: () => 3_000,
  2: (bytes) => 60 + 12 * wordsIn(bytes),
  3: (bytes) => 600 + 120 * wordsIn(bytes),
  4: (bytes) => 15 + 3 * wordsIn(bytes),
  6: () => 150, // EIP-1108, like the next two
  7: () => 6_000,
  8: (bytes) => 45_000 + 34_000 * Math.floor(bytes / 192),
  10: () => 50_000, // EIP-4844
  11: () => 375, // EIP-2537, like the following ones
  13: () => 600,
  15: (bytes) => 37_700 + 32_600 * Math.floor(bytes / 384),
  16: () => 5_500,
  17: () => 23_800,
};
const BLAKE2F = 9;
const ROUNDS_BYTES = 4;

/**
 * The gas that a successful call to a precompiled contract takes. Undefined for other accounts; for modexp (5) and
 * secp256r1 (0x100), whose prices differ by chain and fork; and for the sums of BLS12-381 (12, 14), which always cost
 * more than the floor.
 */
export function precompileGas(to: unknown, input: unknown): number | undefined {
  if (typeof to !== "string" || !ADDRESS.test(to) || !isData(input)) return undefined;
  const number = Number(to);
  if (number === BLAKE2F) return roundsIn(input); // EIP-152: a round costs one gas
  return PRICES[number]?.((input.length - 2) / 2);
}

const ADDRESS = /^0x0{38}[0-9a-f]{2}$/i;

const roundsIn = (input: string): number | undefined => {
  const rounds = bytesOf(input).subarray(0, ROUNDS_BYTES);
  return rounds.length === ROUNDS_BYTES ? rounds.readUInt32BE() : undefined;
};

const bytesOf = (input: string): Buffer => Buffer.from(input.slice(2), "hex");
