// The questions through viem.
import { createPublicClient, http } from "viem";
import { NOWHERE, type Questions } from "./subject.ts";

export function viemQuestions(url: string): Questions {
  const client = createPublicClient({
    transport: http(url, { retryCount: 0, timeout: 50_000, maxResponseBodySize: false }),
  });
  const numbered = ({ blocks }: { blocks: readonly unknown[] }): bigint[] =>
    [...blocks.keys()].map(BigInt);
  const each = <Item, Answer>(items: readonly Item[], look: (item: Item) => Promise<Answer>) =>
    Promise.all(items.map(look));

  return {
    "chain id": () => client.getChainId(),
    "head number": () => client.getBlockNumber({ cacheTime: 0 }),
    "blocks by number": (subject) =>
      each(numbered(subject), (blockNumber) => client.getBlock({ blockNumber })),
    "blocks by number with transactions": (subject) =>
      each(numbered(subject), (blockNumber) =>
        client.getBlock({ blockNumber, includeTransactions: true }),
      ),
    "blocks by hash": ({ blocks }) => each(blocks, (blockHash) => client.getBlock({ blockHash })),
    "blocks by hash with transactions": ({ blocks }) =>
      each(blocks, (blockHash) => client.getBlock({ blockHash, includeTransactions: true })),
    "blocks by tag": () =>
      each(["earliest", "latest", "safe", "finalized"] as const, (blockTag) =>
        client.getBlock({ blockTag }),
      ),
    "transaction counts of blocks": ({ blocks }) =>
      each(blocks, (blockHash) => client.getBlockTransactionCount({ blockHash })),
    transactions: ({ transactions }) =>
      each(transactions, (hash) => client.getTransaction({ hash })),
    "transactions by place": ({ blocks }) =>
      client.getTransaction({ blockHash: blocks[3] ?? NOWHERE, index: 0 }),
    "waiting transactions": ({ waiting }) =>
      each(waiting, (hash) => client.getTransaction({ hash })),
    receipts: ({ transactions }) =>
      each(transactions, (hash) => client.getTransactionReceipt({ hash })),
    "receipts of blocks": ({ blocks }) =>
      each(blocks, (blockHash) => client.request(blockReceipts(blockHash) as never)),
    "uncle counts by hash": ({ blocks }) =>
      each(blocks, (hash) =>
        client.request({ method: "eth_getUncleCountByBlockHash", params: [hash] }),
      ),
    "uncle counts by number": ({ blocks }) =>
      each([...blocks.keys()], (number) =>
        client.request({
          method: "eth_getUncleCountByBlockNumber",
          params: [`0x${number.toString(16)}`],
        }),
      ),
    "logs of all blocks": () => client.getLogs({ fromBlock: "earliest", toBlock: "latest" }),
    "logs of a contract": ({ contract: address }) => client.getLogs({ address, fromBlock: 0n }),
    "logs of one block": ({ blocks }) => each(blocks, (blockHash) => client.getLogs({ blockHash })),
    "logs by topic": ({ topic }) => client.request(logsByTopic(topic)),
    code: ({ contract: address }) => client.getCode({ address }),
    "code of an account": ({ account: address }) => client.getCode({ address }),
    "code before there was any": ({ contract: address }) =>
      client.getCode({ address, blockNumber: 0n }),
    balance: ({ account: address }) => client.getBalance({ address }),
    "balance at block 1": ({ account: address }) => client.getBalance({ address, blockNumber: 1n }),
    nonce: ({ account: address }) => client.getTransactionCount({ address }),
    storage: ({ contract: address }) => client.getStorageAt({ address, slot: "0x0" }),
    call: ({ contract: to }) => client.call({ to, data: "0x01" }),
    "call that reverts": ({ reverter: to }) => client.call({ to, data: "0x01" }),
    "gas of a transfer": ({ account }) => client.estimateGas({ account, to: account, value: 1n }),
    "gas of a call that reverts": ({ account, reverter: to }) =>
      client.estimateGas({ account, to, data: "0x01" }),
    "a block that is not there": () => client.getBlock({ blockHash: NOWHERE }),
    "a block number that is not there": () => client.getBlock({ blockNumber: 99_999n }),
    "a transaction that is not there": () => client.getTransaction({ hash: NOWHERE }),
    "a receipt that is not there": () => client.getTransactionReceipt({ hash: NOWHERE }),
  };
}

const blockReceipts = (block: string) => ({ method: "eth_getBlockReceipts", params: [block] });
const logsByTopic = (topic: `0x${string}`) => ({
  method: "eth_getLogs" as const,
  params: [
    { fromBlock: "0x1" as const, toBlock: "latest" as const, topics: [[topic, NOWHERE]] },
  ] as [{ fromBlock: "0x1"; toBlock: "latest"; topics: `0x${string}`[][] }],
});
