// Transactions: by hash, by their place in a block, and on their way in.
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { transaction } from "../evm/results.ts";
import { data, hash, quantity } from "../evm/values.ts";
import { isBeyondAnyBlock, isBeyondAnyChain, nullWhenUnknown } from "./block-lookup.ts";
import { defineMethod } from "./method.ts";
import { askAt, passedOn } from "./passing-on.ts";
import { withWholePlace } from "./pending.ts";

export const transactionMethods = [
  defineMethod({
    name: "eth_getTransactionByHash",
    summary: "The transaction with this hash, also a pending one; null when it is unknown.",
    cost: 3,
    params: { transactionHash: hash },
    result: transaction.nullable(),
    freshness: "until next block",
    answer: async (_, context) =>
      withWholePlace(
        await nullWhenUnknown(context.ask("eth_getTransactionByHash", context.paramsJson)),
      ),
  }),
  defineMethod({
    name: "eth_getTransactionByBlockHashAndIndex",
    summary: "The transaction at this place of the block; null when there is none.",
    cost: 3,
    params: { blockHash: hash, index: quantity },
    result: transaction.nullable(),
    freshness: "forever",
    answer: ({ index }, context) =>
      isBeyondAnyBlock(index)
        ? "null"
        : nullWhenUnknown(context.ask("eth_getTransactionByBlockHashAndIndex", context.paramsJson)),
  }),
  defineMethod({
    name: "eth_getTransactionByBlockNumberAndIndex",
    summary: "The transaction at this place of the block; null when there is none.",
    cost: 3,
    params: { block: blockNumberOrTag, index: quantity },
    result: transaction.nullable(),
    freshness: "until next block",
    answer: async (args, context) => {
      if (isBeyondAnyChain(args.block) || isBeyondAnyBlock(args.index)) return "null";
      const what = { given: args, at: "block" };
      return withWholePlace(
        await nullWhenUnknown(askAt("eth_getTransactionByBlockNumberAndIndex", what, context)),
        args.block === "pending",
      );
    },
  }),
  passedOn({
    name: "eth_sendRawTransaction",
    summary: "Sends a signed transaction and answers its hash.",
    cost: 3,
    params: { transaction: data },
    result: hash,
    freshness: "unknown",
  }),
];
