// The `stateDiff` of a transaction out of geth's prestateTracer with diffMode. Pure, and never throws
// whatever the node wrote.
import {
  type AccountDiff,
  changeOf,
  isUnchanged,
  type StateDiff,
  sortedObject,
  ZERO_WORD,
} from "./account-diff.ts";
import { readAccounts, type WrittenAccount } from "./prestate-accounts.ts";

export type { StateDiff } from "./account-diff.ts";

export type StateDiffContext = {
  /** The prestateTracer without diffMode: completes a `pre` in which a node left out what did not change. */
  readonly prestate?: unknown;
};

/** undefined when the answer cannot be read. */
export function stateDiffOf(diff: unknown, context: StateDiffContext = {}): StateDiff | undefined {
  const { pre, post } = Object(diff) as Readonly<Record<string, unknown>>;
  const written = readAccounts(pre);
  const changed = readAccounts(post);
  const touched = readAccounts(context.prestate ?? {});
  if (!written || !changed || !touched) return undefined;
  const addresses = new Set([...written.keys(), ...changed.keys()]);
  return sortedObject(
    [...addresses].map((address) => {
      const before = accountBefore(written.get(address), touched.get(address));
      return [address, accountDiffOf(before, accountAfter(before, changed.get(address)))];
    }),
  );
}

type Account = {
  readonly balance: string;
  readonly nonce: string;
  readonly code: string;
  /** Slots that are not there are zero. */
  readonly storage: ReadonlyMap<string, string>;
};

/** undefined when there was none: some nodes write it down as one without anything. */
function accountBefore(
  written: WrittenAccount | undefined,
  touched: WrittenAccount | undefined,
): Account | undefined {
  const before = {
    balance: written?.balance ?? touched?.balance ?? "0x0",
    nonce: written?.nonce ?? touched?.nonce ?? "0x0",
    code: written?.code ?? touched?.code ?? "0x",
    storage: written?.storage ?? new Map(),
  };
  return isEmpty(before) ? undefined : before;
}

/** undefined when there is none any more. */
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
  // A contract never loses its code alone, and a delegation (EIP-7702) goes with a higher nonce.
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

/** What an account that existed had not stored is a word of zeros, not nothing. */
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
