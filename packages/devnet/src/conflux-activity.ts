// Sample activity on conflux-rust: a contract whose events fall into many epochs, and transfers.
import { join } from "node:path";
import type { Clock } from "../../../src/lib/clock.ts";
import type { RpcCaller } from "../../../src/upstream/connection/connect.ts";
import type { SampleCall, SetStage } from "./activity.ts";
import { emitter, inputWord } from "./contracts.ts";

export const CONFLUX_CHAIN_ID = 1234;

/** The key that owns the genesis funds: the chain is private and temporary. */
const SECRET = "46b9e861b63d3509c88b7817275a30d22d62c8cd8fa6486ddee35ef0d8e0495f";
const PAUSE_MS = 2_000;
const RECEIPT_POLL_MS = 100;
const RECEIPT_LIMIT_MS = 30_000;

type Transaction = { to?: string; data?: string; value?: bigint; storageLimit?: bigint };
type Receipt = { transactionHash: string; epochNumber: string; contractCreated: string };
type Signer = { address: string; signTransaction(transaction: never): Promise<string> };

/** The settings of one conflux-rust node, which mines a block for each transaction. */
export const confluxSettings = (options: {
  port: number;
  peerPort: number;
  folder: string;
}): object => ({
  // The "Local" port listens on 127.0.0.1 only and has the same methods; `jsonrpcHttpPort` is open to every address.
  jsonrpcLocalHttpPort: options.port,
  // No peer connects there, but two nodes on one machine cannot share the default, 32323.
  tcpPort: options.peerPort,
  udpPort: options.peerPort,
  chainId: CONFLUX_CHAIN_ID,
  evmChainId: CONFLUX_CHAIN_ID + 1,
  genesisSecrets: [SECRET],
  devPackTxImmediately: true,
  confluxDataDir: join(options.folder, "conflux"),
  // The default is a file in the node's package: the first user who runs the node owns it, and no other user can read it.
  posPrivateKeyPath: join(options.folder, "pos_key"),
  log: false,
});

export const setConfluxStage: SetStage = async ({ signal }, { node, clock }) => {
  const phase = await node.call("current_sync_phase", []);
  if (phase !== "NormalSyncPhase") throw new Error(`takes no transactions in ${phase}`);
  const { privateKeyToAccount } = await import("cive/accounts");
  const account = privateKeyToAccount(`0x${SECRET}`, { networkId: CONFLUX_CHAIN_ID });
  const mine = async (transaction: Transaction): Promise<Receipt> =>
    receiptOf(await send(transaction, { node, account }), { signal, node, clock });
  const { contractCreated: to, epochNumber } = await mine({ data: emitter, storageLimit: 2_000n });
  await mine({ to, data: inputWord(1) });
  const { transactionHash } = await mine({ to, data: inputWord(2) });
  return {
    samples: samplesOf({ contract: to, account: account.address, epochNumber, transactionHash }),
    pauseMs: PAUSE_MS,
    stands: async () => (await node.call("cfx_getCode", [to])) !== "0x",
    act: async (count) => {
      const isTransfer = count % 3 === 0;
      await mine(isTransfer ? { to: account.address, value: 1n } : { to, data: inputWord(count) });
    },
  };
};

/** Signs and sends a transaction; returns its hash. */
async function send(
  { to, data, value = 0n, storageLimit = 0n }: Transaction,
  { node, account }: { node: RpcCaller; account: Signer },
): Promise<unknown> {
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
  return node.call("cfx_sendRawTransaction", [signed]);
}

async function receiptOf(
  hash: unknown,
  given: { signal: AbortSignal; node: RpcCaller; clock: Clock },
): Promise<Receipt> {
  const { signal, node, clock } = given;
  const deadline = clock.now() + RECEIPT_LIMIT_MS;
  while (clock.now() < deadline) {
    const receipt = await node.call("cfx_getTransactionReceipt", [hash]);
    if (receipt) return receipt as Receipt;
    await clock.sleep(RECEIPT_POLL_MS, signal);
  }
  throw new Error(`no receipt of ${hash}`);
}

function samplesOf(seen: {
  contract: string;
  account: string;
  epochNumber: string;
  transactionHash: string;
}): SampleCall[] {
  const logs = { fromEpoch: seen.epochNumber, toEpoch: "latest_state", address: [seen.contract] };
  return [
    { title: "logs of a contract, by epoch", method: "cfx_getLogs", params: [logs] },
    { title: "the newest epoch", method: "cfx_epochNumber", params: ["latest_state"] },
    { title: "a balance, in drip", method: "cfx_getBalance", params: [seen.account] },
    {
      title: "a receipt with five logs",
      method: "cfx_getTransactionReceipt",
      params: [seen.transactionHash],
    },
    {
      title: "an epoch's block with its transactions",
      method: "cfx_getBlockByEpochNumber",
      params: ["latest_state", true],
    },
  ];
}
