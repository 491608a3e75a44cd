// Makes a transaction's `stateDiff` from the result of geth's prestateTracer with diffMode, which geth, erigon, reth,
// nethermind and anvil write almost alike. Pure, and never throws, whatever the node wrote.
import { isAbsent, isJson } from "../proofs/json.ts";
import {
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
} from "./state-diff.ts";

/** The state diff; undefined when the tracer's result cannot be read. */
export function stateDiffOf(diff: unknown): StateDiff | undefined {
  const { pre, post } = Object(diff) as Readonly<Record<string, unknown>>;
  const written = readAccounts(pre);
  const changed = readAccounts(post);
  if (!written || !changed) return undefined;
  const addresses = new Set([...written.keys(), ...changed.keys()]);
  return sortedObject(
    [...addresses].map((address) => {
      const before = accountBefore(written.get(address));
      return [address, accountDiffOf(before, accountAfter(before, changed.get(address)))];
    }),
  );
}

type Account = {
  readonly balance: string;
  readonly nonce: string;
  readonly code: string;
  /** Missing slots are zero. */
  readonly storage: ReadonlyMap<string, string>;
};

/** undefined when the account did not exist, which some nodes write as an empty account. */
function accountBefore(written: WrittenAccount | undefined): Account | undefined {
  const before = {
    balance: written?.balance ?? "0x0",
    nonce: written?.nonce ?? "0x0",
    code: written?.code ?? "0x",
    storage: written?.storage ?? new Map(),
  };
  return isEmpty(before) ? undefined : before;
}

/** undefined when the account no longer exists. */
function accountAfter(
  before: Account | undefined,
  changed: WrittenAccount | undefined,
): Account | undefined {
  if (!changed) return undefined;
  const after = {
    balance: changed.balance ?? before?.balance ?? "0x0",
    nonce: changed.nonce ?? before?.nonce ?? "0x0",
    code: changed.code ?? before?.code ?? "0x",
    storage: changed.storage,
  };
  // A contract loses its code only with everything else; the end of a delegation (EIP-7702) raises the nonce.
  const isDestroyed =
    before && before.code !== "0x" && changed.code === "0x" && changed.nonce === undefined;
  const mayBeEmpty = !before || changed.balance === "0x0"; // EIP-161
  return isDestroyed || (mayBeEmpty && isEmpty(after)) ? undefined : after;
}

/** Before EIP-161 a contract could have storage and nothing else. */
const isEmpty = ({ balance, nonce, code, storage }: Account): boolean =>
  balance === "0x0" &&
  nonce === "0x0" &&
  code === "0x" &&
  [...storage.values()].every((word) => word === ZERO_WORD);

function accountDiffOf(
  before: Account | undefined,
  after: Account | undefined,
): AccountDiff | undefined {
  const diff = {
    balance: changeOf(before?.balance, after?.balance),
    code: changeOf(before?.code, after?.code),
    nonce: changeOf(before?.nonce, after?.nonce),
    storage: after ? storageDiffOf(before?.storage, after.storage) : {},
  };
  return isUnchanged(diff) ? undefined : diff;
}

/** A slot that an existing account had not written was a word of zeros before, and not absent. */
function storageDiffOf(
  before: ReadonlyMap<string, string> | undefined,
  after: ReadonlyMap<string, string>,
): AccountDiff["storage"] {
  const slots = new Set([...(before?.keys() ?? []), ...after.keys()]);
  return sortedObject(
    [...slots].map((slot) => {
      const from = before?.get(slot) ?? ZERO_WORD;
      const to = after.get(slot) ?? ZERO_WORD;
      return [slot, from === to ? undefined : changeOf(before && from, to)];
    }),
  );
}

/** The members that a node wrote of an account; the others are zero in `pre`, and unchanged in `post`. */
type WrittenAccount = {
  readonly balance?: string | undefined;
  readonly nonce?: string | undefined;
  readonly code?: string | undefined;
  readonly storage: ReadonlyMap<string, string>;
};

/** undefined when the value is not a map of accounts by address. */
const readAccounts = (value: unknown): ReadonlyMap<string, WrittenAccount> | undefined =>
  readMap(value, readAddress, readAccount);

function readAccount(value: unknown): WrittenAccount | undefined {
  if (!isJson(value)) return undefined;
  const balance = optional(value["balance"], readQuantity);
  const nonce = optional(value["nonce"], readQuantity);
  const code = optional(value["code"], readData);
  const storage = isAbsent(value["storage"])
    ? new Map<string, string>()
    : readMap(value["storage"], readWord, readWord);
  if (!balance || !nonce || !code || !storage) return undefined;
  // Nodes leave out code that was removed; only its hash tells.
  const isBare = code.value === undefined && hashesOfNoCode.includes(value["codeHash"]);
  return {
    balance: balance.value,
    nonce: nonce.value,
    code: isBare ? "0x" : code.value,
    storage,
  };
}

const hashesOfNoCode: readonly unknown[] = [
  `0x${"0".repeat(64)}`,
  "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470", // keccak of nothing
];

/** undefined when the value exists but cannot be read. */
function optional(
  value: unknown,
  read: (value: unknown) => string | undefined,
): { value: string | undefined } | undefined {
  if (isAbsent(value)) return { value: undefined };
  const text = read(value);
  return text === undefined ? undefined : { value: text };
}

/** undefined when a key or a value cannot be read. */
function readMap<T>(
  value: unknown,
  readKey: (key: string) => string | undefined,
  readValue: (value: unknown) => T | undefined,
): Map<string, T> | undefined {
  if (!isJson(value)) return undefined;
  const entries = new Map<string, T>();
  for (const [name, member] of Object.entries(value)) {
    const key = readKey(name);
    const read = readValue(member);
    if (key === undefined || read === undefined) return undefined;
    entries.set(key, read);
  }
  return entries;
}
