// The answers of an honest node over a generated chain, found without an index.
import type { GeneratedBlock, GeneratedChain } from "../generated-chain.ts";
import type { GeneratedLog } from "./generate-block.ts";

/** The text of `result`; undefined for a method that the node does not have. */
export function answerOf(
  chain: GeneratedChain,
  method: string,
  params: readonly unknown[],
): string | undefined {
  return answers[method]?.(chain, params);
}

type Answer = (chain: GeneratedChain, params: readonly unknown[]) => string;

const json = (block: GeneratedBlock, isFull: unknown): string => {
  if (isFull) return block.blockJson;
  const hashes = JSON.stringify(block.signed.map(({ hash }) => hash));
  return `${block.blockJson.slice(0, block.blockJson.indexOf(',"transactions":['))},"transactions":${hashes}}`;
};

const at = (chain: GeneratedChain, reference: unknown): GeneratedBlock | undefined => {
  const text = String(reference);
  if (text.length === 66) return chain.byHash(text);
  switch (text) {
    case "latest":
      return chain.head;
    case "earliest":
      return chain.block(chain.firstNumber);
    case "safe":
      return chain.block(Math.max(chain.firstNumber, chain.head.number - 8));
    case "finalized":
      return chain.block(Math.max(chain.firstNumber, chain.head.number - 16));
    default:
      return chain.block(Number(text));
  }
};

const elementOf = (list: string, index: number): string =>
  JSON.stringify((JSON.parse(list) as unknown[])[index] ?? null);

const transactionAt = (block: GeneratedBlock | undefined, index: unknown): string => {
  if (!block) return "null";
  const { transactions } = JSON.parse(block.blockJson) as { transactions: unknown[] };
  return JSON.stringify(transactions[Number(index)] ?? null);
};

const blockJson: Answer = (chain, [reference, isFull]) => {
  const block = at(chain, reference);
  return block ? json(block, isFull) : "null";
};

const receipts: Answer = (chain, [reference]) => at(chain, reference)?.receiptsJson ?? "null";
const count: Answer = (chain, [reference]) => {
  const block = at(chain, reference);
  return block ? `"0x${block.signed.length.toString(16)}"` : "null";
};

const answers: Readonly<Record<string, Answer | undefined>> = {
  eth_chainId: () => '"0x1"',
  eth_blockNumber: ({ head }) => `"0x${head.number.toString(16)}"`,
  eth_getBlockByNumber: blockJson,
  eth_getBlockByHash: blockJson,
  eth_getBlockReceipts: receipts,
  eth_getBlockTransactionCountByNumber: count,
  eth_getBlockTransactionCountByHash: count,
  eth_getTransactionByHash: (chain, [hash]) => {
    const position = chain.position(String(hash));
    return transactionAt(position?.block, position?.index);
  },
  eth_getTransactionByBlockHashAndIndex: (chain, [hash, index]) =>
    transactionAt(at(chain, hash), index),
  eth_getTransactionByBlockNumberAndIndex: (chain, [number, index]) =>
    transactionAt(at(chain, number), index),
  eth_getTransactionReceipt: (chain, [hash]) => {
    const position = chain.position(String(hash));
    return position ? elementOf(position.block.receiptsJson, position.index) : "null";
  },
  eth_getLogs: (chain, [filter]) => `[${logsOf(chain, filter as Filter).join(",")}]`,
  eth_getCode: () => '"0x"',
  eth_getBalance: () => '"0x0"',
  eth_call: () => '"0x"',
};

export type Filter = {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly address?: string | readonly string[];
  readonly topics?: readonly (string | null | readonly string[])[];
};

function logsOf(chain: GeneratedChain, filter: Filter): string[] {
  const { blockHash, fromBlock = "latest", toBlock = "latest" } = filter;
  if (blockHash) return matching(at(chain, blockHash), filter);
  const found: string[] = [];
  const last = Math.min(heightOf(chain, toBlock), chain.head.number);
  for (let number = heightOf(chain, fromBlock); number <= last; number += 1)
    found.push(...matching(chain.block(number), filter));
  return found;
}

/** Also of a height that the chain left out. */
const heightOf = (chain: GeneratedChain, reference: string): number =>
  at(chain, reference)?.number ?? Number(reference);

const matching = (block: GeneratedBlock | undefined, filter: Filter): string[] =>
  (block?.logs ?? []).filter((log) => matches(log, filter)).map((log) => log.json);

export function matches(log: GeneratedLog, { address, topics = [] }: Filter): boolean {
  const addresses = typeof address === "string" ? [address] : (address ?? []);
  if (addresses.length > 0 && !addresses.includes(log.address)) return false;
  return (
    topics.length <= log.topics.length &&
    topics.every((wanted, index) => {
      const values = typeof wanted === "string" ? [wanted] : (wanted ?? []);
      return values.length === 0 || values.includes(log.topics[index] ?? "");
    })
  );
}
