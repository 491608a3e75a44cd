// What a transaction changed, as the `stateDiff` of OpenEthereum writes it.
import { isData } from "../evm/values.ts";

export type AccountChange =
  | "="
  | { readonly "+": string }
  | { readonly "-": string }
  | { readonly "*": { readonly from: string; readonly to: string } };

/** `balance` and `nonce` are QUANTITY, `code` is DATA, slots and their values are words of 32 bytes. */
export type AccountDiff = {
  readonly balance: AccountChange;
  readonly code: AccountChange;
  readonly nonce: AccountChange;
  readonly storage: Readonly<Record<string, AccountChange>>;
};

/** By address; slots and addresses in lower case and in order, only what changed. */
export type StateDiff = Readonly<Record<string, AccountDiff>>;

export const ZERO_WORD = `0x${"0".repeat(64)}`;

/** undefined stands for what does not exist. */
export function changeOf(from: string | undefined, to: string | undefined): AccountChange {
  if (from === to) return "=";
  if (from === undefined) return { "+": to ?? "" };
  return to === undefined ? { "-": from } : { "*": { from, to } };
}

export const isUnchanged = ({ balance, code, nonce, storage }: AccountDiff): boolean =>
  balance === "=" && code === "=" && nonce === "=" && Object.keys(storage).length === 0;

/** An object of what is not undefined, its keys in order. */
export const sortedObject = <T>(entries: Iterable<readonly [string, T | undefined]>) =>
  Object.fromEntries(
    [...entries]
      .filter((entry): entry is [string, T] => entry[1] !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );

/** Nodes write a nonce as a number, and some pad a number with zeros. */
export function readQuantity(value: unknown): string | undefined {
  if (typeof value === "number")
    return Number.isSafeInteger(value) && value >= 0 ? `0x${value.toString(16)}` : undefined;
  const digits = digitsOf(value);
  return digits === undefined ? undefined : `0x${digits.replace(/^0+/, "") || "0"}`;
}

export function readWord(value: unknown): string | undefined {
  const digits = digitsOf(value);
  return digits === undefined ? undefined : `0x${digits.padStart(64, "0")}`;
}

export const readData = (value: unknown): string | undefined =>
  isData(value) ? value.toLowerCase() : undefined;

export const readAddress = (value: string): string | undefined =>
  value.length === 42 ? readData(value) : undefined;

/** Of a number of at most 256 bits. */
const digitsOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{0,64}$/i.test(value)
    ? value.slice(2).toLowerCase()
    : undefined;
