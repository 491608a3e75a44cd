// What a transaction changed: the `stateDiff` of OpenEthereum, and a node's own one in one spelling whichever node wrote
// it. Pure, and never throws whatever the node wrote.
import { isData } from "../evm/values.ts";
import { isAbsent, isJson, type Json } from "../proofs/json.ts";

type AccountChange =
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

/** undefined when it cannot be read. */
export function normaliseStateDiff(diff: unknown): StateDiff | undefined {
  if (!isJson(diff)) return undefined;
  const accounts: [string, AccountDiff | undefined][] = [];
  for (const [name, value] of Object.entries(diff)) {
    const address = readAddress(name);
    const account = isJson(value) ? normaliseAccount(value) : undefined;
    if (address === undefined || !account) return undefined;
    accounts.push([address, isUnchanged(account) ? undefined : account]);
  }
  return sortedObject(accounts);
}

type Fate = "born" | "lives" | "died";

function normaliseAccount(account: Json): AccountDiff | undefined {
  const balance = readChange(account["balance"], readQuantity);
  const code = readChange(account["code"], readData);
  const nonce = readChange(account["nonce"], readQuantity);
  if (!balance || !code || !nonce) return undefined;
  const fate = fateOf(balance) ?? fateOf(nonce) ?? "lives";
  const storage = normaliseStorage(account["storage"] ?? {}, fate);
  return (
    storage && {
      balance: suited(balance, fate, "0x0"),
      code: suited(code, fate, "0x"),
      nonce: suited(nonce, fate, "0x0"),
      storage,
    }
  );
}

function normaliseStorage(storage: unknown, fate: Fate): AccountDiff["storage"] | undefined {
  if (!isJson(storage)) return undefined;
  const slots: [string, AccountChange | undefined][] = [];
  for (const [name, value] of Object.entries(storage)) {
    const slot = readWord(name);
    const change = readChange(value, readWord);
    if (slot === undefined || !change) return undefined;
    const isKept = change !== "=" && !areZeros(change);
    slots.push([slot, isKept ? suited(change, fate, ZERO_WORD) : undefined]);
  }
  return sortedObject(slots);
}

/** A slot of an account that was born or died may be written though it never held anything. */
const areZeros = (change: Exclude<AccountChange, "=">): boolean =>
  Object.values(change).every((value) => value === ZERO_WORD);

/** Code and slots may be new or gone in an account that lives on; these two only with the account. */
const fateOf = (change: AccountChange): Fate | undefined => {
  if (change === "=") return undefined;
  if ("+" in change) return "born";
  return "-" in change ? "died" : undefined;
};

/**
 * As the account as a whole fares. Nethermind writes "=" for the code of accounts that are born
 * without, and others "+" for the first code of an account that had existed.
 */
function suited(change: AccountChange, fate: Fate, nothing: string): AccountChange {
  const { from, to } = endsOf(change);
  if (fate === "born") return { "+": to ?? nothing };
  if (change === "=") return "=";
  return fate === "died" ? { "-": from ?? nothing } : changeOf(from ?? nothing, to ?? nothing);
}

function endsOf(change: AccountChange): { from?: string; to?: string } {
  if (change === "=") return {};
  if ("+" in change) return { to: change["+"] };
  return "-" in change ? { from: change["-"] } : change["*"];
}

/** undefined when it is none; nodes and libraries leave out what did not change. */
function readChange(
  value: unknown,
  read: (value: unknown) => string | undefined,
): AccountChange | undefined {
  if (isAbsent(value) || value === "=") return "=";
  if (!isJson(value)) return undefined;
  const kind = Object.keys(value).join();
  const ends = value["*"];
  if (kind === "*") {
    const from = isJson(ends) ? read(ends["from"]) : undefined;
    const to = isJson(ends) ? read(ends["to"]) : undefined;
    return from === undefined || to === undefined ? undefined : changeOf(from, to);
  }
  const text = read(value[kind]);
  if (text === undefined) return undefined;
  if (kind === "+") return { "+": text };
  return kind === "-" ? { "-": text } : undefined;
}
