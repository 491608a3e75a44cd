// One transaction whose traces are looked at, and what there has to be before it.
import { asm, placeOf } from "./assembler.ts";

export type Account = {
  readonly code?: string;
  readonly balance?: bigint;
  /** By slot. */
  readonly storage?: Readonly<Record<number, number>>;
};

export type Case = {
  readonly name: string;
  /** By address, beside those that are always there. */
  readonly accounts?: Readonly<Record<string, Account>>;
  /** For eth_sendTransaction, but for its sender. */
  readonly transaction: Readonly<Record<string, unknown>>;
};

/** A call of a contract that is made for it. */
export function calling(
  name: string,
  source: string,
  { transaction = {}, accounts = {}, ...account }: Partial<Case> & Omit<Account, "code"> = {},
): Case {
  const to = placeOf(name);
  const called = { [to]: { code: asm(source), ...account } };
  return { name, accounts: { ...called, ...accounts }, transaction: { to, ...transaction } };
}

/** What the cases call. */
export const callees = {
  returner: placeOf("returner"),
  reverter: placeOf("reverter"),
  keeper: placeOf("keeper"),
  stopper: placeOf("stopper"),
  nobody: placeOf("nobody"),
};

/** The code of those. */
export const calleeAccounts: Readonly<Record<string, Account>> = {
  [callees.returner]: {
    code: asm("CALLDATASIZE 0x00 0x00 CALLDATACOPY 0x2a 0x20 MSTORE 0x40 0x00 RETURN"),
  },
  [callees.reverter]: { code: asm("0xdeadbeef 0x00 MSTORE 0x20 0x00 REVERT") },
  // Notes who calls it, with how much, and what is sent along.
  [callees.keeper]: {
    code: asm("CALLER 0x00 SSTORE CALLVALUE 0x01 SSTORE 0x00 CALLDATALOAD 0x02 SSTORE ADDRESS POP"),
  },
  [callees.stopper]: { code: asm("STOP") },
};
