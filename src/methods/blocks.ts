// The methods for blocks. The gateway corrects a pending block, and adds the total difficulty where it is configured.
import { z } from "zod";
import type { StoredBlock } from "../chain/stored-block.ts";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { block } from "../evm/results.ts";
import { hash, quantity, toQuantity } from "../evm/values.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { type AnswerJson, isNull, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { byHash, byNumber, ofBlock } from "./block-lookup.ts";
import { askByHash, askOfBlock } from "./forwarding.ts";
import { type CallContext, defineMethod, fromStore, type NetworkFacts } from "./method.ts";
import { asPendingBlock, hasValue } from "./pending.ts";

const fullTransactions = z
  .boolean({ error: "want true or false" })
  .describe("Whether to return whole transactions instead of their hashes.");

const LOOKUP = { workKind: "blocks", cost: 3 } as const;

type ByNumber = { readonly block: string };
type ByHash = { readonly blockHash: string };
type Form = { readonly fullTransactions: boolean };

const countJson = (stored: StoredBlock, _: unknown, context: CallContext): AnswerJson =>
  fromStore(`"${toQuantity(stored.outline.transactions)}"`, stored, context);

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
    answer: ofBlock<ByNumber & Form>({ ...byNumber, read: blockJson, ask: askByNumber }),
  }),
  defineMethod({
    name: "eth_getBlockByHash",
    ...LOOKUP,
    isSpecified: true,
    summary: "The block with this hash; null when there is none.",
    params: { blockHash: hash, fullTransactions },
    result: block.nullable(),
    freshness: "forever",
    answer: ofBlock<ByHash & Form>({
      ...byHash,
      read: blockJson,
      ask: async (_, context) =>
        withTotalDifficulty(await askByHash("eth_getBlockByHash", context), context.network),
    }),
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByNumber",
    ...LOOKUP,
    isNullNoBlock: true,
    summary: "The number of transactions in the block; null when there is no such block.",
    params: { block: blockNumberOrTag },
    result: quantity.nullable(),
    freshness: "until next block",
    answer: ofBlock<ByNumber>({
      ...byNumber,
      read: countJson,
      ask: (args, context) => askOfBlock("eth_getBlockTransactionCountByNumber", args, context),
    }),
  }),
  defineMethod({
    name: "eth_getBlockTransactionCountByHash",
    ...LOOKUP,
    summary: "The number of transactions in the block; null when there is no such block.",
    params: { blockHash: hash },
    result: quantity.nullable(),
    freshness: "forever",
    answer: ofBlock<ByHash>({
      ...byHash,
      read: countJson,
      ask: (_, context) => askByHash("eth_getBlockTransactionCountByHash", context),
    }),
  }),
];

function blockJson(
  stored: StoredBlock,
  { fullTransactions: isFull }: Form,
  context: CallContext,
): AnswerJson {
  if (context.network.totalDifficulty === undefined) {
    const json = isFull ? stored.withTransactionsToSend() : stored.withHashesToSend();
    return fromStore(json, stored, context);
  }
  // Only a whole block in memory can get one more member.
  const json = isFull ? stored.withTransactions() : stored.withHashes();
  return fromStore(withTotalDifficulty(json, context.network), stored, context);
}

async function askByNumber(args: ByNumber & Form, context: CallContext): Promise<AnswerJson> {
  const result = await askOfBlock("eth_getBlockByNumber", args, context);
  if (args.block === "pending") return asPendingBlock(result, context.network.pending);
  if (isTagBeyondHead(args.block, result, context)) throw errors.taggedBlockNotFound(args.block);
  return withTotalDifficulty(result, context.network);
}

/** Whether a `safe` or `finalized` block is above the followed head: it is of another branch, or newer than the head. */
function isTagBeyondHead(asked: string, result: Buffer, { chain }: CallContext): boolean {
  if (!chain || (asked !== "safe" && asked !== "finalized")) return false;
  const [number] = findMembers(result, ["number"]) ?? [];
  return number !== undefined && Number(textOf(result, number).slice(1, -1)) > chain.head.number;
}

/** Adds the total difficulty of a block after the merge, which current nodes leave out (docs/decisions/0035). */
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
