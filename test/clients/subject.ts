// The data that clients are asked about: blocks, transactions and contracts of a chain that the tests know.
import type { AnvilNode } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import type { ExecutionChain } from "../support/execution-chain.ts";

type Hex = `0x${string}`;

export type Subject = {
  readonly chainId: number;
  /** Block hashes by block number. */
  readonly blocks: readonly Hex[];
  /** The hashes of mined and of pending transactions. */
  readonly transactions: readonly Hex[];
  /** The transactions without the 56 receipts of 380 KB each, which only the tests with viem read. */
  readonly smallTransactions: readonly Hex[];
  /** The first block after the large ones. */
  readonly usualFrom: number;
  readonly waiting: readonly Hex[];
  /** The address of a contract with code and logs. */
  readonly contract: Hex;
  readonly topic: Hex;
  /** The address of a contract that reverts with a reason when it is called with `01`. */
  readonly reverter: Hex;
  readonly reason: string;
  readonly account: Hex;
};

/** The questions to one client at one endpoint; each returns the client's answer. */
export type Questions = Readonly<Record<string, (subject: Subject) => Promise<unknown>>>;

export const NOWHERE: Hex = `0x${"ee".repeat(32)}`;

const hex = (text: unknown): Hex => text as Hex;
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, "0")}`;

/** The end of the large receipts, which are those of block 2; block 1 has 4 transactions. */
const LARGE_RECEIPTS_END = 63;

/** A subject whose contracts come from the genesis of the vectors. */
export const subjectOfExecutionChain = (chain: ExecutionChain, chainId: number): Subject => ({
  chainId,
  blocks: chain.blockHashes.map(hex),
  transactions: chain.transactionHashes.map(hex),
  smallTransactions: chain.transactionHashes.slice(LARGE_RECEIPTS_END).map(hex),
  usualFrom: 3,
  waiting: [],
  contract: "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df",
  topic: word(0x656d6974),
  reverter: "0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930",
  reason: "user error",
  account: "0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f",
});

export async function subjectOfAnvil(anvil: AnvilNode): Promise<Subject> {
  const numbers = [0, ...anvil.transactions.keys()].map((_, number) => `0x${number.toString(16)}`);
  const blocks = await Promise.all(
    numbers.map((number) => ask(anvil.url, "eth_getBlockByNumber", [number, false])),
  );
  const logs = await ask(anvil.url, "eth_getLogs", [{ fromBlock: "0x0" }]);
  const [, withTopic] = logs.result as readonly { topics: readonly string[] }[];
  const sent = await ask(anvil.url, "eth_getTransactionByHash", [anvil.pending]);
  return {
    chainId: anvil.chainId,
    blocks: blocks.map(({ result }) => hex((result as { hash: string }).hash)),
    transactions: anvil.transactions.map(hex),
    smallTransactions: anvil.transactions.map(hex),
    usualFrom: 0,
    waiting: [hex(anvil.pending)],
    contract: hex(anvil.emitter),
    topic: hex(withTopic?.topics[0]),
    reverter: hex(anvil.reverter),
    reason: "the gate is closed",
    account: hex((sent.result as { from: string }).from),
  };
}
