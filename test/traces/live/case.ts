// One transaction whose traces are compared, with the accounts that it needs.
import { asm, placeOf } from "./assembler.ts";

export type Account = {
  readonly code?: string;
  readonly balance?: bigint;
  /** Values by slot. */
  readonly storage?: Readonly<Record<number, number>>;
};

export type Case = {
  readonly name: string;
  /** Accounts by address, beside those of all cases. */
  readonly accounts?: Readonly<Record<string, Account>>;
  /** Members for eth_sendTransaction, without `from`. */
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

/** Addresses that the cases call. */
export const callees = {
  returner: placeOf("returner"),
  reverter: placeOf("reverter"),
  keeper: placeOf("keeper"),
  stopper: placeOf("stopper"),
  nobody: placeOf("nobody"),
};

/** The code at the callees' addresses. */
export const calleeAccounts: Readonly<Record<string, Account>> = {
  [callees.returner]: {
    code: asm("CALLDATASIZE 0x00 0x00 CALLDATACOPY 0x2a 0x20 MSTORE 0x40 0x00 RETURN"),
  },
  [callees.reverter]: { code: asm("0xdeadbeef 0x00 MSTORE 0x20 0x00 REVERT") },
  // Stores the caller, the value and the first word of data.
  [callees.keeper]: {
    code: asm("CALLER 0x00 SSTORE CALLVALUE 0x01 SSTORE 0x00 CALLDATALOAD 0x02 SSTORE ADDRESS POP"),
  },
  [callees.stopper]: { code: asm("STOP") },
};
