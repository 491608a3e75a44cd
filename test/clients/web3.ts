// The questions through web3.js.
import { Web3 } from "web3";
import { NOWHERE, type Questions } from "./subject.ts";

export function web3Questions(url: string): Questions {
  const { eth } = new Web3(url);
  const each = <Item, Answer>(items: readonly Item[], look: (item: Item) => Promise<Answer>) =>
    Promise.all(items.map(look));
  const numbered = ({ blocks }: { blocks: readonly unknown[] }): number[] => [...blocks.keys()];

  return {
    "chain id": () => eth.getChainId(),
    "head number": () => eth.getBlockNumber(),
    "blocks by number": (subject) => each(numbered(subject), (number) => eth.getBlock(number)),
    "blocks by number with transactions": (subject) =>
      each(numbered(subject), (number) => eth.getBlock(number, true)),
    "blocks by hash": ({ blocks }) => each(blocks, (hash) => eth.getBlock(hash)),
    "blocks by hash with transactions": ({ blocks }) =>
      each(blocks, (hash) => eth.getBlock(hash, true)),
    "blocks by tag": () =>
      each(["earliest", "latest", "safe", "finalized"] as const, (tag) => eth.getBlock(tag)),
    "transaction counts of blocks": ({ blocks }) =>
      each(blocks, (hash) => eth.getBlockTransactionCount(hash)),
    transactions: ({ transactions }) => each(transactions, (hash) => eth.getTransaction(hash)),
    "transactions by place": ({ blocks }) => eth.getTransactionFromBlock(blocks[3] ?? NOWHERE, 0),
    "waiting transactions": ({ waiting }) => each(waiting, (hash) => eth.getTransaction(hash)),
    receipts: ({ smallTransactions }) =>
      each(smallTransactions, (hash) => eth.getTransactionReceipt(hash)),
    "uncle counts by hash": ({ blocks }) => each(blocks, (hash) => eth.getBlockUncleCount(hash)),
    "uncle counts by number": (subject) =>
      each(numbered(subject), (number) => eth.getBlockUncleCount(number)),
    uncles: ({ blocks }) => each(blocks, (hash) => eth.getUncle(hash, 0)),
    "logs of all blocks": ({ usualFrom }) =>
      eth.getPastLogs({ fromBlock: usualFrom, toBlock: "latest" }),
    "logs of a contract": ({ contract: address }) => eth.getPastLogs({ address, fromBlock: 0 }),
    "logs by topic": ({ topic }) => eth.getPastLogs({ fromBlock: 1, topics: [[topic, NOWHERE]] }),
    code: ({ contract }) => eth.getCode(contract),
    "code before there was any": ({ contract }) => eth.getCode(contract, 0),
    balance: ({ account }) => eth.getBalance(account),
    nonce: ({ account }) => eth.getTransactionCount(account),
    storage: ({ contract }) => eth.getStorageAt(contract, 0),
    "gas price": () => eth.getGasPrice(),
    call: ({ contract: to }) => eth.call({ to, data: "0x01" }),
    "call that reverts": ({ reverter: to }) => eth.call({ to, data: "0x01" }),
    "gas of a transfer": ({ account }) =>
      eth.estimateGas({ from: account, to: account, value: "0x1" }),
    "gas of a call that reverts": ({ account, reverter: to }) =>
      eth.estimateGas({ from: account, to, data: "0x01" }),
    "a block that is not there": () => eth.getBlock(NOWHERE),
    "a block number that is not there": () => eth.getBlock(99_999),
    "a transaction that is not there": () => eth.getTransaction(NOWHERE),
    "a receipt that is not there": () => eth.getTransactionReceipt(NOWHERE),
  };
}
