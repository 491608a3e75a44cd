// The questions through ethers, which sends calls that begin together as a batch.
import { JsonRpcProvider } from "ethers";
import { NOWHERE, type Questions } from "./subject.ts";

export function ethersQuestions(url: string): { questions: Questions; close(): void } {
  const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, batchMaxCount: 20 });
  const each = <Item, Answer>(items: readonly Item[], look: (item: Item) => Promise<Answer>) =>
    Promise.all(items.map(look));
  const numbered = ({ blocks }: { blocks: readonly unknown[] }): number[] => [...blocks.keys()];

  // The transactions are behind a getter, which a comparison does not see.
  const block = async (which: string | number) => {
    const found = await provider.getBlock(which);
    return [found, found?.transactions];
  };
  const blockWithTransactions = async (which: string | number) => {
    const found = await provider.getBlock(which, true);
    return [found, found?.prefetchedTransactions];
  };
  const receipt = async (hash: string) => {
    const found = await provider.getTransactionReceipt(hash);
    return [found, found?.logs];
  };

  const questions: Questions = {
    "chain id": async () => (await provider.getNetwork()).chainId,
    "head number": () => provider.getBlockNumber(),
    "blocks by number": (subject) => each(numbered(subject), (number) => block(number)),
    "blocks by number with transactions": (subject) =>
      each(numbered(subject), (number) => blockWithTransactions(number)),
    "blocks by hash": ({ blocks }) => each(blocks, (hash) => block(hash)),
    "blocks by hash with transactions": ({ blocks }) =>
      each(blocks, (hash) => blockWithTransactions(hash)),
    "blocks by tag": () => each(["earliest", "latest", "safe", "finalized"], (tag) => block(tag)),
    transactions: ({ transactions }) => each(transactions, (hash) => provider.getTransaction(hash)),
    "waiting transactions": ({ waiting }) => each(waiting, (hash) => provider.getTransaction(hash)),
    receipts: ({ smallTransactions }) => each(smallTransactions, (hash) => receipt(hash)),
    "receipts of blocks": ({ blocks, usualFrom }) =>
      each(blocks.slice(usualFrom), (hash) => provider.send("eth_getBlockReceipts", [hash])),
    "uncle counts by hash": ({ blocks }) =>
      each(blocks, (hash) => provider.send("eth_getUncleCountByBlockHash", [hash])),
    "logs of all blocks": ({ usualFrom }) =>
      provider.getLogs({ fromBlock: usualFrom, toBlock: "latest" }),
    "logs of a contract": ({ contract: address }) => provider.getLogs({ address, fromBlock: 0 }),
    "logs of one block": ({ blocks, usualFrom }) =>
      each(blocks.slice(usualFrom), (blockHash) => provider.getLogs({ blockHash })),
    "logs by topic": ({ topic }) => provider.getLogs({ fromBlock: 1, topics: [[topic, NOWHERE]] }),
    code: ({ contract }) => provider.getCode(contract),
    "code before there was any": ({ contract }) => provider.getCode(contract, 0),
    balance: ({ account }) => provider.getBalance(account),
    nonce: ({ account }) => provider.getTransactionCount(account, "pending"),
    storage: ({ contract }) => provider.getStorage(contract, 0),
    "fee data": () => provider.getFeeData(),
    call: ({ contract: to }) => provider.call({ to, data: "0x01" }),
    "call that reverts": ({ reverter: to }) => provider.call({ to, data: "0x01" }),
    "gas of a transfer": ({ account }) =>
      provider.estimateGas({ from: account, to: account, value: 1n }),
    "gas of a call that reverts": ({ account, reverter: to }) =>
      provider.estimateGas({ from: account, to, data: "0x01" }),
    "a block that is not there": () => provider.getBlock(NOWHERE),
    "a block number that is not there": () => provider.getBlock(99_999),
    "a transaction that is not there": () => provider.getTransaction(NOWHERE),
    "a receipt that is not there": () => provider.getTransactionReceipt(NOWHERE),
  };
  return { questions, close: () => provider.destroy() };
}
