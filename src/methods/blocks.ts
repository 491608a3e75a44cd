// Blocks, as the nodes give them; a pending block and an old block's total difficulty are put right.
import { z } from "zod";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { block } from "../evm/results.ts";
import { hash, quantity } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/envelope.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { isBeyondAnyChain, isNull, nullWhenUnknown } from "./block-lookup.ts";
import { defineMethod, type NetworkFacts } from "./method.ts";
import { askAt } from "./passing-on.ts";
import { asPendingBlock, hasValue } from "./pending.ts";

const fullTransactions = z
  .boolean({ error: "want true or false" })
  .describe("Whole transactions instead of their hashes.");

export const blockMethods = [
  defineMethod({
    name: "eth_getBlockByNumber",
    summary: "The block with this number; null when there is none.",
    cost: 3,
    params: { block: blockNumberOrTag, fullTransactions },
    result: block.nullable(),
    freshness: "until next block",
    answer: async (args, context) => {
      if (isBeyondAnyChain(args.block)) return "null";
      const result = await nullWhenUnknown(
        askAt("eth_getBlockByNumber", { given: args, at: "block" }, context),
      );
      return args.block === "pending"
        ? asPendingBlock(result)
        : withTotalDifficulty(result, context.network);
    },
  }),
  defineMethod({
    name: "eth_getBlockByHash",
    summary: "The block with this hash; null when there is none.",
    cost: 3,
    params: { blockHash: hash, fullTransactions },
    result: block.nullable(),
    freshness: "forever",
    answer: async (_, context) =>
      withTotalDifficulty(
        await nullWhenUnknown(context.ask("eth_getBlockByHash", context.paramsJson)),
        context.network,
      ),
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByNumber",
    summary: "How many transactions the block has; null when there is no such block.",
    cost: 3,
    params: { block: blockNumberOrTag },
    result: quantity.nullable(),
    freshness: "until next block",
    answer: (args, context) =>
      isBeyondAnyChain(args.block)
        ? "null"
        : nullWhenUnknown(
            askAt("eth_getBlockTransactionCountByNumber", { given: args, at: "block" }, context),
          ),
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByHash",
    summary: "How many transactions the block has; null when there is no such block.",
    cost: 3,
    params: { blockHash: hash },
    result: quantity.nullable(),
    freshness: "forever",
    answer: (_, context) =>
      nullWhenUnknown(context.ask("eth_getBlockTransactionCountByHash", context.paramsJson)),
  }),
];

/** Decisions, totalDifficulty: of blocks after the merge it is known, and current nodes leave it out. */
function withTotalDifficulty(result: Buffer, { totalDifficulty }: NetworkFacts): RawJson {
  if (totalDifficulty === undefined || isNull(result)) return result;
  const [present, difficulty] = findMembers(result, ["totalDifficulty", "difficulty"]) ?? [];
  if (hasValue(result, present)) return result;
  if (!difficulty || textOf(result, difficulty) !== '"0x0"') return result;
  const value = `"${totalDifficulty}"`;
  return present
    ? splice(result, present.start, present.end, value)
    : splice(result, result.lastIndexOf("}"), result.length, `,"totalDifficulty":${value}}`);
}

const splice = (json: Buffer, start: number, end: number, text: string): Buffer =>
  Buffer.concat([json.subarray(0, start), Buffer.from(text), json.subarray(end)]);
