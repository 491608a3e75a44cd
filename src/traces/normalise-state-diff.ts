// The `stateDiff` of a node's own trace_replayTransaction, in one spelling whoever wrote it. Pure, and
// never throws whatever the node wrote.
import { isAbsent, isJson, type Json } from "../proofs/json.ts";
import {
  type AccountChange,
  type AccountDiff,
  changeOf,
  isUnchanged,
  readAddress,
  readData,
  readQuantity,
  readWord,
  type StateDiff,
  sortedObject,
  ZERO_WORD,
} from "./account-diff.ts";

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
