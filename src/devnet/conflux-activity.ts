// Sample activity on conflux-rust: a contract whose events fall into many epochs, and transfers.
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";
import type { Activity, SampleCall } from "./activity.ts";
import { emitter, inputWord, SAMPLE_TOPIC } from "./contracts.ts";

export const CONFLUX_CHAIN_ID = 1234;

/** Owns the genesis funds of a chain that nobody else ever sees. */
const SECRET = "46b9e861b63d3509c88b7817275a30d22d62c8cd8fa6486ddee35ef0d8e0495f";
const PAUSE_MS = 2_000;
const RECEIPT_POLL_MS = 100;

/** What conflux-rust is told: one node, mining whenever a transaction comes. */
export const confluxSettings = ({ port, folder }: { port: number; folder: string }): object => ({
  jsonrpcHttpPort: port,
  chainId: CONFLUX_CHAIN_ID,
  evmChainId: CONFLUX_CHAIN_ID + 1,
  genesisSecrets: [SECRET],
  devPackTxImmediately: true,
  confluxDataDir: join(folder, "conflux"),
  log: false,
});

/** Throws when the node goes away. */
export const keepConfluxActive: Activity = async ({ signal, ready }, { node, clock }) => {
  await node.call("cfx_getStatus", []);
  const { privateKeyToAccount } = await import("cive/accounts");
  const account = privateKeyToAccount(`0x${SECRET}`, { networkId: CONFLUX_CHAIN_ID });
  const send = (transaction: Transaction): Promise<Receipt> =>
    mined({ ...transaction, signal }, { node, clock, account });
  const created = await send({ data: emitter, storageLimit: 2_000n });
  const to = created.contractCreated;
  await send({ to, data: inputWord(1) });
  await send({ to, data: inputWord(2) });
  ready(samplesOf({ contract: to, account: account.address, fromEpoch: created.epochNumber }));
  for (let count = 3; !signal.aborted; count += 1) {
    await clock.sleep(PAUSE_MS, signal);
    if (count % 3 === 0) await send({ to: account.address, value: 1n });
    else await send({ to, data: inputWord(count) });
  }
};

type Transaction = { to?: string; data?: string; value?: bigint; storageLimit?: bigint };
type Receipt = { epochNumber: string; contractCreated: string };
type Signer = { address: string; signTransaction(transaction: never): Promise<string> };

/** Sends a transaction and waits for its receipt. */
async function mined(
  { signal, to, data, value = 0n, storageLimit = 0n }: Transaction & { signal: AbortSignal },
  { node, clock, account }: { node: RpcCaller; clock: Clock; account: Signer },
): Promise<Receipt> {
  const nonce = Number(await node.call("cfx_getNextNonce", [account.address]));
  const epochHeight = BigInt((await node.call("cfx_epochNumber", [])) as string);
  const signed = await account.signTransaction({
    type: "legacy",
    chainId: CONFLUX_CHAIN_ID,
    nonce,
    gas: 1_000_000n,
    gasPrice: 20_000_000_000n, // drip
    epochHeight,
    storageLimit,
    value,
    ...(to && { to }),
    ...(data && { data }),
  } as never);
  const hash = await node.call("cfx_sendRawTransaction", [signed]);
  for (;;) {
    const receipt = await node.call("cfx_getTransactionReceipt", [hash]);
    if (receipt) return receipt as Receipt;
    await clock.sleep(RECEIPT_POLL_MS, signal);
  }
}

function samplesOf(seen: { contract: string; account: string; fromEpoch: string }): SampleCall[] {
  const { contract, account, fromEpoch } = seen;
  const filter = {
    fromEpoch,
    toEpoch: "latest_state",
    address: [contract],
    topics: [SAMPLE_TOPIC],
  };
  return [
    { title: "logs of a contract, by epoch", method: "cfx_getLogs", params: [filter] },
    { title: "the newest epoch", method: "cfx_epochNumber", params: ["latest_state"] },
    { title: "a balance, in drip", method: "cfx_getBalance", params: [account] },
  ];
}
