// The accounts that a transaction writes, before and after it, from ethereumjs's own state.
import type { TypedTransaction } from "@ethereumjs/tx";
import {
  type Address,
  bytesToHex,
  createAddressFromString,
  hexToBytes,
  setLengthLeft,
} from "@ethereumjs/util";
import type { AfterTxEvent, RunTxResult, VM } from "@ethereumjs/vm";

export type Account = {
  balance: bigint;
  nonce: bigint;
  code: string;
  /** The slots that were written, with zeros. */
  storage: Record<string, string>;
};

/** By address, undefined where there is none. */
export type Accounts = ReadonlyMap<string, Account | undefined>;

export type Recorded = {
  transaction: TypedTransaction;
  outcome: RunTxResult;
  before: Accounts;
  after: Accounts;
};

/** Records every transaction that `vm` runs from now on, in a list that grows. */
export function recordTransactions({ stateManager: state, events }: VM): readonly Recorded[] {
  const recorded: Recorded[] = [];
  const before = new Map<string, Account | undefined>();
  const slots = new Map<string, Record<string, string>>();
  const read = async (name: string): Promise<Account | undefined> => {
    const address = createAddressFromString(name);
    const account = await state.getAccount(address);
    if (!account) return undefined;
    const code = bytesToHex(await state.getCode(address));
    return { balance: account.balance, nonce: account.nonce, code, storage: {} };
  };
  const slotOf = async (address: Address, key: Uint8Array): Promise<string> =>
    bytesToHex(setLengthLeft(await state.getStorage(address, key), 32));
  const note = async (address: Address): Promise<void> => {
    const name = address.toString();
    if (!before.has(name)) before.set(name, await read(name));
  };
  const { putAccount, deleteAccount, putStorage } = state;
  state.putAccount = async (address, account) => {
    await note(address);
    await putAccount.call(state, address, account);
  };
  state.deleteAccount = async (address) => {
    await note(address);
    await deleteAccount.call(state, address);
  };
  state.putStorage = async (address, key, value) => {
    const noted = slots.get(address.toString()) ?? {};
    noted[bytesToHex(key)] ??= await slotOf(address, key);
    slots.set(address.toString(), noted);
    await putStorage.call(state, address, key, value);
  };
  events.on("beforeTx", (_, done) => {
    before.clear();
    slots.clear();
    done?.();
  });
  const finish = async ({ transaction, ...outcome }: AfterTxEvent): Promise<void> => {
    const after = new Map<string, Account | undefined>();
    for (const [name, account] of before) {
      const written = slots.get(name) ?? {};
      if (account) account.storage = written;
      const now = await read(name);
      for (const slot of now ? Object.keys(written) : [])
        if (now)
          now.storage[slot] = await slotOf(
            createAddressFromString(name),
            hexToBytes(slot as `0x${string}`),
          );
      after.set(name, now);
    }
    recorded.push({ transaction, outcome, before: new Map(before), after });
  };
  events.on("afterTx", (outcome, done) => {
    // A transaction whose accounts could not be read is missing in the list.
    finish(outcome).then(
      () => done?.(),
      () => done?.(),
    );
  });
  return recorded;
}
