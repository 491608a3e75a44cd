// OpenEthereum's `stateDiff` (ethcore's `diff_pod`), made from whole accounts before and after.
import type { Account, Accounts } from "./state-recorder.ts";

export const parityDiff = (before: Accounts, after: Accounts): object =>
  Object.fromEntries(
    [...before.keys()]
      .sort()
      .map((address) => [address, diffOf(before.get(address), after.get(address))] as const)
      .filter(([, diff]) => diff !== undefined),
  );

function diffOf(from: Account | undefined, to: Account | undefined): object | undefined {
  if (!from || !to) return one(from, "-") ?? one(to, "+");
  const storage = Object.keys(to.storage)
    .sort()
    .map((slot) => [slot, change(from.storage[slot], to.storage[slot])] as const)
    .filter(([, changed]) => changed !== "=");
  const diff = {
    balance: change(hex(from.balance), hex(to.balance)),
    code: change(from.code, to.code),
    nonce: change(hex(from.nonce), hex(to.nonce)),
    storage: Object.fromEntries(storage),
  };
  const isSame = [diff.balance, diff.code, diff.nonce].every((part) => part === "=");
  return isSame && storage.length === 0 ? undefined : diff;
}

/** A created or deleted account; the storage of a deleted one is left out. */
function one(account: Account | undefined, sign: "+" | "-"): object | undefined {
  if (!account) return undefined;
  const slots = Object.entries(account.storage)
    .filter(([, word]) => sign === "+" && !/^0x0*$/.test(word))
    .map(([slot, word]) => [slot, { "+": word }] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    balance: { [sign]: hex(account.balance) },
    code: { [sign]: account.code },
    nonce: { [sign]: hex(account.nonce) },
    storage: Object.fromEntries(slots),
  };
}

const change = (from: string | undefined, to: string | undefined): unknown =>
  from === to ? "=" : { "*": { from, to } };

const hex = (value: bigint): string => `0x${value.toString(16)}`;
