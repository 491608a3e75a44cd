// A real anvil on which each case is a block of its own.
import { gunzipSync } from "node:zlib";
import { createCustomCommon, Hardfork, Mainnet } from "@ethereumjs/common";
import type { KZG, PrefixedHexString } from "@ethereumjs/util";
import { pino } from "pino";
import { EVM_CHAIN_ID } from "../../../packages/devnet/src/evm-activity.ts";
import {
  anvilCommand,
  freePorts,
  SupervisedNode,
} from "../../../packages/devnet/src/node-process.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { ask, read } from "../../support/ask.ts";
import { until } from "../../support/processes.ts";
import { type Account, type Case, calleeAccounts } from "./case.ts";

type StateAccount = {
  readonly balance: string;
  readonly nonce: number;
  readonly code: string;
  readonly storage: Readonly<Record<string, string>>;
};
/** All accounts, by address. */
export type State = Readonly<Record<string, StateAccount>>;

type Receipt = {
  readonly blockNumber: string;
  readonly gasUsed: string;
  readonly status: string;
  readonly from: string;
  readonly effectiveGasPrice: string;
};

/** A case with its mined transaction. */
export type Mined = Case & {
  readonly hash: string;
  readonly raw: PrefixedHexString;
  readonly receipt: Receipt;
  readonly block: Readonly<Record<string, unknown>>;
};

export const isAnvilHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;
/** The rules of the chain, as ethereumjs has them. */
export const common = createCustomCommon({ chainId: EVM_CHAIN_ID }, Mainnet, {
  hardfork: Hardfork.Osaka,
  customCrypto: { kzg: {} as KZG }, // required but never used
});
const COINBASE = "0xc0ffee0000000000000000000000000000000000";

/** Starts an anvil that keeps the steps of its transactions. */
export async function startChain(): Promise<{ url: string; close: () => void }> {
  const { port } = await freePorts("port");
  const command = anvilCommand({ port, chainId: EVM_CHAIN_ID });
  if (!command) throw new Error("there is no anvil for this machine");
  const parts = { clock: systemClock, log: pino({ level: "silent" }) };
  const pinned = { ...command, args: [...command.args, "--hardfork", common.hardfork()] };
  const supervised = new SupervisedNode({ name: "anvil", command: pinned }, parts);
  supervised.start();
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    ask(url, "eth_chainId").then(
      ({ result }) => !!result,
      () => false,
    );
  await until("anvil answers", isUp);
  return { url, close: () => supervised.stop() };
}

/** Creates all accounts of the cases in a block before the first case. */
export async function plantAll(url: string, cases: readonly Case[]): Promise<void> {
  await read(url, "anvil_setCoinbase", COINBASE);
  for (const { accounts = {} } of [{ accounts: calleeAccounts }, ...cases])
    for (const [address, account] of Object.entries(accounts)) await plant(url, address, account);
  await read(url, "evm_mine");
}

async function plant(url: string, address: string, account: Account): Promise<void> {
  const { code, balance = 0n, storage = {} } = account;
  await read(url, "anvil_setBalance", address, `0x${balance.toString(16)}`);
  if (code !== undefined) await read(url, "anvil_setCode", address, code);
  if (code !== undefined) await read(url, "anvil_setNonce", address, "0x1"); // EIP-161
  for (const [slot, value] of Object.entries(storage))
    await read(url, "anvil_setStorageAt", address, word(Number(slot)), word(value));
}

const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;

/** Mines the transaction in a block of its own. */
export async function mine(url: string, one: Case): Promise<Mined> {
  const [from] = await read<string[]>(url, "eth_accounts");
  const hash = await read<string>(url, "eth_sendTransaction", {
    from,
    gas: "0x100000",
    ...one.transaction,
  });
  const receipt = await until(`"${one.name}" is mined`, () =>
    read<Receipt | undefined>(url, "eth_getTransactionReceipt", hash),
  );
  const raw = await read<PrefixedHexString>(url, "eth_getRawTransactionByHash", hash);
  const block = await read<object>(url, "eth_getBlockByNumber", receipt.blockNumber, false);
  return { ...one, hash, raw, receipt, block: { ...block } };
}

/** The whole state; it takes longer the more blocks the node has. */
export async function wholeState(url: string): Promise<State> {
  const dump = await read<string>(url, "anvil_dumpState");
  const json = gunzipSync(Buffer.from(dump.slice(2), "hex")).toString();
  const { accounts } = JSON.parse(json) as { accounts: State };
  const isThere = ({ balance, nonce, code }: StateAccount) =>
    nonce > 0 || BigInt(balance) > 0n || code !== "0x"; // EIP-161
  return Object.fromEntries(Object.entries(accounts).filter(([, account]) => isThere(account)));
}
