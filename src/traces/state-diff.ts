// The `stateDiff` of OpenEthereum, and the translation of any node's own stateDiff into one spelling. Pure, and never
// throws, whatever the node wrote.
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

/** By address: only changed accounts and slots, in lower case and in order. */
export type StateDiff = Readonly<Record<string, AccountDiff>>;

export const ZERO_WORD = `0x${"0".repeat(64)}`;

/** The change of a value; undefined where the account did not exist before, or does not after. */
export function changeOf(from: string | undefined, to: string | undefined): AccountChange {
  if (from === to) return "=";
  if (from === undefined) return { "+": to ?? "" };
  return to === undefined ? { "-": from } : { "*": { from, to } };
}

export const isUnchanged = ({ balance, code, nonce, storage }: AccountDiff): boolean =>
  balance === "=" && code === "=" && nonce === "=" && Object.keys(storage).length === 0;

/** An object of the entries that are not undefined, with its keys in order. */
export const sortedObject = <T>(entries: Iterable<readonly [string, T | undefined]>) =>
  Object.fromEntries(
    [...entries]
      .filter((entry): entry is [string, T] => entry[1] !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );

/** A QUANTITY without padding: nodes write a nonce as a number, and some pad numbers with zeros. */
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

/** The hex digits of a number of at most 256 bits. */
const digitsOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{0,64}$/i.test(value)
    ? value.slice(2).toLowerCase()
    : undefined;

/** A node's own stateDiff in the one spelling; undefined when it cannot be read. */
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

/** Whether a slot never held anything: nodes may list such slots of an account that was born or died. */
const areZeros = (change: Exclude<AccountChange, "=">): boolean =>
  Object.values(change).every((value) => value === ZERO_WORD);

/** The fate that a balance or nonce shows: these appear and vanish only with the account, unlike code and slots. */
const fateOf = (change: AccountChange): Fate | undefined => {
  if (change === "=") return undefined;
  if ("+" in change) return "born";
  return "-" in change ? "died" : undefined;
};

/**
 * Makes a change agree with the account's fate: Nethermind writes "=" for the code of accounts that are born without
 * code, and other nodes write "+" for the first code of an account that had existed.
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

/** undefined when the value is no change. Nodes and libraries may leave out unchanged members. */
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
