// Accounts as anvil has them after a block, and a whole state in ethereumjs.
import {
  bytesToHex,
  createAddressFromString,
  hexToBytes,
  type PrefixedHexString,
  setLengthLeft,
} from "@ethereumjs/util";
import { createVM, type VM } from "@ethereumjs/vm";
import { read } from "../../support/ask.ts";
import { hashesOf } from "../../support/execution-chain/execute.ts";
import type { Account, Accounts } from "../state-recorder.ts";
import { common, type State } from "./chain.ts";

export type Place = { readonly url: string; readonly block: number };

/** The accounts, with the same slots, as the node has them after the block. */
export async function accountsAt(place: Place, { before, after }: Touched): Promise<Accounts> {
  const found = [...before.keys()].map(async (address) => {
    const slots = { ...before.get(address)?.storage, ...after.get(address)?.storage };
    return [address, await accountAt(place, address, Object.keys(slots))] as const;
  });
  return new Map(await Promise.all(found));
}

type Touched = { readonly before: Accounts; readonly after: Accounts };

async function accountAt(
  { url, block }: Place,
  address: string,
  slots: readonly string[],
): Promise<Account | undefined> {
  const tag = `0x${block.toString(16)}`;
  const ask = (method: string) => read<string>(url, method, address, tag);
  const balance = BigInt(await ask("eth_getBalance"));
  const nonce = BigInt(await ask("eth_getTransactionCount"));
  const code = await ask("eth_getCode");
  const storage: Record<string, string> = {};
  for (const slot of slots)
    storage[slot] = await read<string>(url, "eth_getStorageAt", address, slot, tag);
  const isEmpty = balance === 0n && nonce === 0n && code === "0x"; // EIP-161
  return isEmpty ? undefined : { balance, nonce, code, storage };
}

/** An EVM of ethereumjs with this state. */
export async function machineWith(state: State): Promise<VM> {
  const vm = await createVM({ common, blockchain: hashesOf([]) });
  const { stateManager: manager } = vm;
  for (const [name, { balance, nonce, code, storage }] of Object.entries(state)) {
    const address = createAddressFromString(name);
    const fields = { balance: BigInt(balance), nonce: BigInt(nonce) };
    await manager.modifyAccountFields(address, fields);
    await manager.putCode(address, bytes(code));
    for (const [slot, word] of Object.entries(storage))
      await manager.putStorage(address, bytes(slot), bytes(word.replace(/^0x(00)*/, "0x")));
  }
  return vm;
}

/** The addresses whose accounts differ between the EVM and the state. */
export async function differing({ stateManager: manager }: VM, state: State): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { balance, nonce, code, storage }] of Object.entries(state)) {
    const address = createAddressFromString(name);
    const account = await manager.getAccount(address);
    const isSame =
      account?.balance === BigInt(balance) &&
      account.nonce === BigInt(nonce) &&
      bytesToHex(await manager.getCode(address)) === code;
    const words = Object.entries(storage).map(async ([slot, word]) => {
      const stored = await manager.getStorage(address, bytes(slot));
      return BigInt(bytesToHex(setLengthLeft(stored, 32))) === BigInt(word);
    });
    if (!isSame || (await Promise.all(words)).includes(false)) found.push(name);
  }
  return found;
}

const bytes = (hex: string): Uint8Array => hexToBytes(hex as PrefixedHexString);
