// A real anvil with contents: two contracts, a transfer, events, a pending transaction.
import { pino } from "pino";
import { emitter, inputWord, reverter } from "../../packages/devnet/src/contracts.ts";
import { EVM_CHAIN_ID, takeHistoryContract } from "../../packages/devnet/src/evm-activity.ts";
import { anvilCommand, freePorts, SupervisedNode } from "../../packages/devnet/src/node-process.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { RpcCaller } from "../../src/upstream/connection/connect.ts";
import { ask, fetchCaller } from "./ask.ts";
import { until } from "./processes.ts";

export type AnvilNode = {
  readonly url: string;
  readonly chainId: number;
  /** An account with funds, for which the node signs. */
  readonly sender: string;
  /** A contract with logs of 0 to 4 topics in block 4. */
  readonly emitter: string;
  /** A contract that reverts with a reason. */
  readonly reverter: string;
  /** The hashes of the mined transactions, in chain order. */
  readonly transactions: readonly string[];
  /** The hash of a transaction that is not mined. */
  readonly pending: string;
  close(): void;
};

/** undefined where there is no anvil for this machine. */
export async function startAnvil(chainId = EVM_CHAIN_ID): Promise<AnvilNode | undefined> {
  const { port } = await freePorts("port");
  const command = anvilCommand({ port, chainId });
  if (!command) return undefined;
  const parts = { clock: systemClock, log: pino({ level: "silent" }) };
  const supervised = new SupervisedNode({ name: "anvil", command }, parts);
  supervised.start();
  const url = `http://127.0.0.1:${port}`;
  await until("anvil answers", () =>
    ask(url, "eth_chainId").then(
      ({ result }) => result === `0x${chainId.toString(16)}`,
      () => false,
    ),
  );
  const activity = await fill(fetchCaller(url));
  return { url, chainId, ...activity, close: () => supervised.stop() };
}

/** Fills the chain; anvil mines each transaction into a block of its own. */
async function fill(node: RpcCaller) {
  await takeHistoryContract(node); // with it, thousands of blocks would take half a minute
  const [from, to, waiting] = (await node.call("eth_accounts", [])) as string[];
  const send = async (transaction: object): Promise<string> =>
    String(await node.call("eth_sendTransaction", [{ from, gas: "0x100000", ...transaction }]));
  const created = [await send({ data: emitter }), await send({ data: reverter })];
  const [emitterAddress = "", reverterAddress = ""] = await Promise.all(
    created.map((hash) => contractOf(node, hash)),
  );
  const transfer = await send({ to, value: "0x3b9aca00" });
  const emitted = await send({ to: emitterAddress, data: inputWord(7) });
  return {
    sender: from ?? "",
    emitter: emitterAddress,
    reverter: reverterAddress,
    transactions: [...created, transfer, emitted],
    pending: await send({ from: waiting, to, nonce: "0x1", value: "0x1" }), // nonce 0 never comes
  };
}

async function contractOf(node: RpcCaller, hash: string): Promise<string> {
  // anvil answers with a transaction's hash before it has mined the transaction.
  const receipt = await until(`${hash} is mined`, () =>
    node.call("eth_getTransactionReceipt", [hash]),
  );
  return (receipt as { contractAddress: string }).contractAddress;
}
