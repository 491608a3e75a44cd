// Blocks, as the nodes give them; a pending block and an old block's total difficulty are put right.
import { z } from "zod";
import type { StoredBlock } from "../chain/stored-block.ts";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { block } from "../evm/results.ts";
import { hash, quantity, toQuantity } from "../evm/values.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import type { AnswerJson, RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import {
  findBlock,
  findNumbered,
  fromStore,
  isNull,
  MAY_LAG,
  nullWhenUnknown,
  storedAt,
} from "./block-lookup.ts";
import { type CallContext, defineMethod, type NetworkFacts } from "./method.ts";
import { askAt } from "./passing-on.ts";
import { asPendingBlock, hasValue } from "./pending.ts";

const fullTransactions = z
  .boolean({ error: "want true or false" })
  .describe("Whole transactions instead of their hashes.");

const LOOKUP = { workKind: "blocks", cost: 3 } as const;

export const blockMethods = [
  defineMethod({
    name: "eth_getBlockByNumber",
    ...LOOKUP,
    isSpecified: true,
    isNullNoBlock: true,
    summary: "The block with this number; null when there is none.",
    params: { block: blockNumberOrTag, fullTransactions },
    result: block.nullable(),
    freshness: "until next block",
    answer: (args, context) => {
      const stored = storedAt(args.block, context);
      return stored ? blockJson(stored, args, context) : findByNumber(args, context);
    },
  }),
  defineMethod({
    name: "eth_getBlockByHash",
    ...LOOKUP,
    isSpecified: true,
    summary: "The block with this hash; null when there is none.",
    params: { blockHash: hash, fullTransactions },
    result: block.nullable(),
    freshness: "forever",
    answer: (args, context) => {
      const stored = storedAt(args.blockHash, context);
      return stored ? blockJson(stored, args, context) : findByHash(args, context);
    },
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByNumber",
    ...LOOKUP,
    isNullNoBlock: true,
    summary: "How many transactions the block has; null when there is no such block.",
    params: { block: blockNumberOrTag },
    result: quantity.nullable(),
    freshness: "until next block",
    answer: (args, context) => {
      const stored = storedAt(args.block, context);
      return stored ? countJson(stored, context) : countByNumber(args, context);
    },
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByHash",
    ...LOOKUP,
    summary: "How many transactions the block has; null when there is no such block.",
    params: { blockHash: hash },
    result: quantity.nullable(),
    freshness: "forever",
    answer: (args, context) => {
      const stored = storedAt(args.blockHash, context);
      return stored ? countJson(stored, context) : countByHash(args, context);
    },
  }),
];

type BlockArgs = { readonly block: string; readonly fullTransactions: boolean };
type HashArgs = { readonly blockHash: string; readonly fullTransactions: boolean };

function blockJson(
  stored: StoredBlock,
  { fullTransactions: isFull }: { readonly fullTransactions: boolean },
  context: CallContext,
): AnswerJson {
  // What is added to a block is added to the whole of it.
  if (isFull && context.network.totalDifficulty === undefined)
    return fromStore(stored.withTransactionsToSend(), stored, context);
  const json = isFull ? stored.withTransactions() : stored.withHashes();
  return fromStore(withTotalDifficulty(json, context.network), stored, context);
}

async function findByNumber(args: BlockArgs, context: CallContext): Promise<AnswerJson> {
  const found = await findNumbered(args.block, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return blockJson(found, args, context);
  const result = await askBlock("eth_getBlockByNumber", args, context);
  if (args.block === "pending") return asPendingBlock(result, context.network.pending);
  if (isTagBeyondHead(args.block, result, context)) throw errors.taggedBlockNotFound(args.block);
  return withTotalDifficulty(result, context.network);
}

/** No node told of such a block of the followed chain; this one is of another, or of a later time. */
function isTagBeyondHead(asked: string, result: Buffer, { chain }: CallContext): boolean {
  if (!chain || (asked !== "safe" && asked !== "finalized")) return false;
  const [number] = findMembers(result, ["number"]) ?? [];
  return number !== undefined && Number(textOf(result, number).slice(1, -1)) > chain.head.number;
}

async function findByHash(args: HashArgs, context: CallContext): Promise<AnswerJson> {
  const found = await findBlock({ kind: "hash", hash: args.blockHash }, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return blockJson(found, args, context);
  const asked = context.ask("eth_getBlockByHash", context.paramsJson, MAY_LAG);
  return withTotalDifficulty(await nullWhenUnknown(asked), context.network);
}

const countJson = (stored: StoredBlock, context: CallContext): RawJson =>
  fromStore(`"${toQuantity(stored.outline.transactions)}"`, stored, context);

async function countByNumber(args: { block: string }, context: CallContext): Promise<RawJson> {
  const found = await findNumbered(args.block, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return countJson(found, context);
  return askBlock("eth_getBlockTransactionCountByNumber", args, context);
}

async function countByHash(args: { blockHash: string }, context: CallContext): Promise<RawJson> {
  const found = await findBlock({ kind: "hash", hash: args.blockHash }, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return countJson(found, context);
  const method = "eth_getBlockTransactionCountByHash";
  return nullWhenUnknown(context.ask(method, context.paramsJson, MAY_LAG));
}

const askBlock = (
  method: string,
  args: Readonly<Record<string, unknown>>,
  context: CallContext,
): Promise<Buffer> => nullWhenUnknown(askAt(method, { given: args, at: "block" }, context));

/** docs/decisions/0035: of blocks after the merge it is known, and current nodes leave it out. */
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
