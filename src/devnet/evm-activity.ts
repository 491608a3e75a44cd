// Sample activity on anvil: contracts, creations, transfers, events, a revert, a pending transaction.
import type { RpcCaller } from "../lib/rpc-caller.ts";
import type { Activity, SampleCall } from "./activity.ts";
import { emitter, inputWord, reverter, SAMPLE_TOPIC } from "./contracts.ts";

export const EVM_CHAIN_ID = 31_337;

/** Between two transactions: the head moves about once a second. */
const PAUSE_MS = 1_000;
const ONE_GWEI = "0x3b9aca00";

/** Throws when the node goes away. */
export const keepEvmActive: Activity = async ({ signal, ready }, { node, clock }) => {
  const accounts = (await node.call("eth_accounts", [])) as string[];
  const [from, to, waiting] = accounts;
  const send = (transaction: object): Promise<string> => mined(node, { from, ...transaction });
  const emitterAddress = await contractAt(node, await send({ data: emitter }));
  const reverterAddress = await contractAt(node, await send({ data: reverter }));
  await send({ to, value: ONE_GWEI });
  const emitted = await send({ to: emitterAddress, data: inputWord(1) });
  const pending = await sendPending(node, { from: waiting, to });
  ready(
    samplesOf({ emitted, pending, emitterAddress, reverterAddress, block: await headOf(node) }),
  );
  for (let count = 2; !signal.aborted; count += 1) {
    await clock.sleep(PAUSE_MS, signal);
    if (count % 20 === 0) await send({ data: emitter });
    else if (count % 3 === 0) await send({ to, value: ONE_GWEI });
    else await send({ to: emitterAddress, data: inputWord(count) });
  }
};

/** anvil mines each transaction as it comes, into a block of its own. */
const mined = async (node: RpcCaller, transaction: object): Promise<string> =>
  (await node.call("eth_sendTransaction", [{ gas: "0x100000", ...transaction }])) as string;

/** A transaction that waits for an earlier one which never comes: its nonce is one too high. */
async function sendPending(
  node: RpcCaller,
  { from, to }: { from: string | undefined; to: string | undefined },
): Promise<string> {
  const next = (await node.call("eth_getTransactionCount", [from, "latest"])) as string;
  const nonce = `0x${(Number(next) + 1).toString(16)}`;
  return mined(node, { from, to, nonce, value: ONE_GWEI });
}

async function contractAt(node: RpcCaller, hash: string): Promise<string> {
  const receipt = await node.call("eth_getTransactionReceipt", [hash]);
  return (receipt as { contractAddress: string }).contractAddress;
}

const headOf = async (node: RpcCaller): Promise<string> =>
  (await node.call("eth_blockNumber", [])) as string;

function samplesOf(seen: {
  emitted: string;
  pending: string;
  emitterAddress: string;
  reverterAddress: string;
  block: string;
}): SampleCall[] {
  const { emitted, pending, emitterAddress, reverterAddress, block } = seen;
  const logs = {
    address: emitterAddress,
    fromBlock: "0x0",
    toBlock: block,
    topics: [SAMPLE_TOPIC],
  };
  return [
    {
      title: "a block with its transactions",
      method: "eth_getBlockByNumber",
      params: ["latest", true],
    },
    { title: "a receipt with five logs", method: "eth_getTransactionReceipt", params: [emitted] },
    {
      title: "all receipts of a block",
      method: "eth_getTransactionReceiptsByBlock",
      params: [block],
    },
    { title: "logs of a contract", method: "eth_getLogs", params: [logs] },
    { title: "a pending transaction", method: "eth_getTransactionByHash", params: [pending] },
    { title: "a contract's code", method: "eth_getCode", params: [emitterAddress, "latest"] },
    {
      title: "an estimate that reverts, with the reason",
      method: "eth_estimateGas",
      params: [{ to: reverterAddress }],
    },
    {
      title: "keccak-256, computed by the gateway",
      method: "web3_sha3",
      params: ["0x68656c6c6f20776f726c64"],
    },
  ];
}
