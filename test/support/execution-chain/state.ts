// Accounts in the state after a block.
import type { StateManagerInterface } from "@ethereumjs/common";
import {
  type Address,
  bigIntToBytes,
  bytesToHex,
  createAddressFromString,
  setLengthLeft,
} from "@ethereumjs/util";
import { readAddress } from "./arguments.ts";
import type { ExecutedBlock, ExecutedChain } from "./execute.ts";
import { quantity } from "./shapes.ts";

export async function readBalance(state: StateManagerInterface, address: string): Promise<string> {
  const account = await state.getAccount(toAddress(address));
  return quantity(account?.balance ?? 0n);
}

export async function readNonce(state: StateManagerInterface, address: string): Promise<string> {
  const account = await state.getAccount(toAddress(address));
  return quantity(account?.nonce ?? 0n);
}

export const readCode = async (state: StateManagerInterface, address: string): Promise<string> =>
  bytesToHex(await state.getCode(toAddress(address)));

export async function readStorage(
  state: StateManagerInterface,
  address: string,
  slot: bigint,
): Promise<string> {
  const account = toAddress(address);
  // ethereumjs refuses to read storage of accounts that do not exist.
  if (!(await state.getAccount(account))) return bytesToHex(new Uint8Array(32));
  const key = setLengthLeft(bigIntToBytes(slot), 32);
  return bytesToHex(setLengthLeft(await state.getStorage(account, key), 32));
}

/** The state after `block`, as a view of its own. */
export async function stateAfter(
  { vm }: ExecutedChain,
  { block }: ExecutedBlock,
): Promise<StateManagerInterface> {
  const state = vm.stateManager.shallowCopy();
  await state.setStateRoot(block.header.stateRoot);
  return state;
}

export const toAddress = (value: unknown): Address => createAddressFromString(readAddress(value));
