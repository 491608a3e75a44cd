// Changes an anvil's chain, and waits until the gateway has followed them.
import { inputWord } from "../../packages/devnet/src/contracts.ts";
import type { Log } from "../filters/filter-client.ts";
import type { AnvilNode } from "./anvil-node.ts";
import { ask, post, read } from "./ask.ts";
import { until } from "./processes.ts";

export type Header = {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
};

export const latest = (url: string): Promise<Header> =>
  read(url, "eth_getBlockByNumber", "latest", false);

/** Resolves when the gateway has the node's head, and answers it from its store. */
export const settled = (url: string, anvil: AnvilNode): Promise<unknown> =>
  until("the gateway has the node's head", async () => {
    const head = await stored(url, "latest");
    return head !== undefined && head.hash === (await latest(anvil.url)).hash;
  });

/** A block, if the answer is from the store: until the gateway follows the chain again, the node answers. */
async function stored(url: string, block: string): Promise<Header | undefined> {
  const body = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: [block, false] };
  const response = await post(url, JSON.stringify(body));
  const isStored = response.headers.get("x-headgate-source") === "store";
  const { result } = (await response.json()) as { result?: Header };
  return isStored ? result : undefined;
}

export const mine = (anvil: AnvilNode, blocks: number): Promise<unknown> =>
  ask(anvil.url, "anvil_mine", [`0x${blocks.toString(16)}`]);

/** Mines a transaction with a log. @returns Its hash. */
export async function emit(anvil: AnvilNode): Promise<string> {
  const { url, sender: from, emitter: to } = anvil;
  const transaction = { from, to, data: inputWord(9), gas: "0x100000" };
  const hash = await read<string>(url, "eth_sendTransaction", transaction);
  await until("it is mined", () => read(url, "eth_getTransactionReceipt", hash));
  return hash;
}

/** The canonical logs of the emitter, as the node tells them. */
export const logsOf = ({ url, emitter }: AnvilNode): Promise<Log[]> =>
  read(url, "eth_getLogs", { fromBlock: "0x0", toBlock: "latest", address: emitter });
