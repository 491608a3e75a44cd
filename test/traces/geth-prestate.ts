// The output of geth's prestateTracer for a transaction whose accounts are known before and after it.
import type { Account, Accounts } from "./state-recorder.ts";

export type Written = {
  balance?: string;
  nonce?: number | string;
  code?: string;
  codeHash?: string;
  storage?: Record<string, string>;
};
export type Prestate = Record<string, Written>;

/** As geth: `pre` has whole accounts except unchanged slots, `post` only the changes; zeros are left out. */
export function diffModeOf(before: Accounts, after: Accounts): { pre: Prestate; post: Prestate } {
  const pre: Prestate = {};
  const post: Prestate = {};
  for (const address of before.keys()) {
    const from = before.get(address) ?? nobody;
    const to = after.get(address) ?? nobody;
    const changed = changesOf(from, to);
    if (!after.get(address)) {
      if (!isEmpty(from)) pre[address] = whole(from);
      continue;
    }
    if (Object.keys(changed).length === 0) continue;
    if (!isEmpty(from)) pre[address] = whole(from, to);
    const { storage = {}, ...rest } = changed;
    const kept = nonZero(storage);
    post[address] = { ...rest, ...(Object.keys(kept).length > 0 && { storage: kept }) };
  }
  return { pre, post };
}

const ZERO_WORD = `0x${"0".repeat(64)}`;

const nobody: Account = { balance: 0n, nonce: 0n, code: "0x", storage: {} };

const isEmpty = ({ balance, nonce, code }: Account): boolean =>
  balance === 0n && nonce === 0n && code === "0x";

/** A whole account, with the slots that differ from those of `to`. */
function whole({ balance, nonce, code, storage }: Account, to?: Account): Written {
  const changed = Object.entries(storage).filter(([slot, word]) => to?.storage[slot] !== word);
  const kept = nonZero(Object.fromEntries(changed));
  return {
    balance: hex(balance),
    ...(nonce > 0n && { nonce: Number(nonce) }),
    ...(code !== "0x" && { code }),
    ...(Object.keys(kept).length > 0 && { storage: kept }),
  };
}

function changesOf(from: Account, to: Account): Written {
  const changed = Object.entries(to.storage).filter(
    ([slot, word]) => (from.storage[slot] ?? ZERO_WORD) !== word,
  );
  return {
    ...(to.balance !== from.balance && { balance: hex(to.balance) }),
    ...(to.nonce !== from.nonce && { nonce: Number(to.nonce) }),
    ...(to.code !== from.code && (to.code === "0x" ? { codeHash: ZERO_WORD } : { code: to.code })),
    ...(changed.length > 0 && { storage: Object.fromEntries(changed) }),
  };
}

const nonZero = (storage: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(storage).filter(([, word]) => word !== ZERO_WORD));

const hex = (value: bigint): string => `0x${value.toString(16)}`;
