// The accounts of geth's prestateTracer, which geth, erigon, reth, nethermind and anvil write almost alike.
import { isAbsent, isJson } from "../proofs/json.ts";
import { readAddress, readData, readQuantity, readWord } from "./account-diff.ts";

/** What was written of an account; the rest is zero, or in `post` as it was before. */
export type WrittenAccount = {
  readonly balance?: string | undefined;
  readonly nonce?: string | undefined;
  readonly code?: string | undefined;
  readonly storage: ReadonlyMap<string, string>;
};

export type WrittenAccounts = ReadonlyMap<string, WrittenAccount>;

/** undefined when it is anything else. */
export const readAccounts = (value: unknown): WrittenAccounts | undefined =>
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
  // Code that was taken away is left out; only its hash tells.
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

/** undefined when it is there, but unreadable. */
function optional(
  value: unknown,
  read: (value: unknown) => string | undefined,
): { value: string | undefined } | undefined {
  if (isAbsent(value)) return { value: undefined };
  const text = read(value);
  return text === undefined ? undefined : { value: text };
}

/** undefined when a key or a value of it is unreadable. */
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
