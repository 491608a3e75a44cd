// The methods for the receipts of one transaction, and of all transactions of a block.

import { z } from "zod";
import { type BlockReference, blockReference, plainReference } from "../evm/block-reference.ts";
import { receipt } from "../evm/results.ts";
import { hash } from "../evm/values.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import { type AnswerJson, isNull, ownedJson, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors, isMethodMissing } from "../jsonrpc/rpc-error.ts";
import { anyContract } from "../namespaces/read-contracts.ts";
import type { CrossCheckRule } from "../upstream/asking/call-options.ts";
import {
  type BlockOutline,
  type FixedPointer,
  findBlock,
  findWithReceipts,
  pointedText,
  readBlock,
  settle,
  storedAt,
} from "./block-lookup.ts";
import { askByHash, BY_NULL, nullWhenUnknown } from "./forwarding.ts";
import {
  type CallContext,
  defineMethod,
  type Method,
  receiptsFromStore,
  storedPart,
} from "./method.ts";
import { chainReaching, nullWhenPending } from "./pending.ts";

/** One method under two names: the specification's, and the one that most nodes use today. */
const receiptsByBlock = (name: string): Method =>
  defineMethod({
    name,
    workKind: "blocks",
    isSpecified: true,
    isNullNoBlock: true,
    summary: "All receipts of a block; null when the block is unknown or pending.",
    cost: 10,
    params: { block: blockReference },
    result: z.array(receipt).nullable(),
    freshness: "until next block",
    contractsOf: anyContract, // the receipts have the logs of all contracts
    answer: ({ block }, context) => {
      const stored = storedAt(block, context);
      const receipts = stored?.receiptsToSend();
      return stored && receipts
        ? receiptsFromStore(receipts, stored, context)
        : findReceipts(block, context);
    },
  });

export const receiptMethods = [
  defineMethod({
    name: "eth_getTransactionReceipt",
    workKind: "blocks",
    isSpecified: true,
    summary: "The receipt of a mined transaction; null while it is pending or unknown.",
    cost: 3,
    params: { transactionHash: hash },
    result: receipt.nullable(),
    freshness: "until next block",
    answer: ({ transactionHash }, context) =>
      storedPart("receipt", transactionHash, context) ?? findReceipt(transactionHash, context),
  }),
  receiptsByBlock("eth_getTransactionReceiptsByBlock"),
  receiptsByBlock("eth_getBlockReceipts"),
];

async function findReceipts(block: BlockReference, context: CallContext): Promise<AnswerJson> {
  // Specification: a pending transaction has no receipt. geth answers the receipts of its own draft of a block.
  if (plainReference(block) === "pending") return "null";
  const pointer = await settle(block, context);
  const found = pointer && (await findWithReceipts(pointer, context));
  // A block without receipts is told as one that is not known: an empty list, or a part of it, would be false.
  if (!pointer || found === "unknown" || found === "no receipts") return "null";
  const receipts = found && found !== "elsewhere" ? found.receiptsToSend() : undefined;
  return found && found !== "elsewhere" && receipts
    ? receiptsFromStore(receipts, found, context)
    : receiptsOfNodes(pointer, context);
}

/**
 * The receipts as nodes give them, where some of the nodes failed.
 * @throws RpcError 502 when they are not as many as the block's transactions: a node gives a part of those it has removed.
 */
async function receiptsOfNodes(pointer: FixedPointer, context: CallContext): Promise<RawJson> {
  const json = await receiptsOf(pointer, context);
  const block = context.chain ? await findBlock(pointer, context) : "elsewhere";
  if (typeof block === "string") return json;
  const count = findElements(Buffer.from(json))?.length;
  if (count !== block.outline.transactions) throw errors.upstreamsFailed();
  return json;
}

/** Finds a receipt that no stored block has: its transaction is pending, old, in a newer block, or unknown. */
async function findReceipt(transactionHash: string, context: CallContext): Promise<AnswerJson> {
  const result = await askByHash("eth_getTransactionReceipt", context);
  const chain = await chainReaching(result, context);
  if (chain === "old") return oldReceipt(transactionHash, result, context);
  if (chain === "pending") return "null";
  return ownedJson(storedPart("receipt", transactionHash, context, chain) ?? "null");
}

/** If the block is stored without its receipts, the node may have all of them: then the answer is a proven one. */
async function oldReceipt(
  transactionHash: string,
  result: Buffer,
  context: CallContext,
): Promise<AnswerJson> {
  const { block } = context.chain?.transaction(transactionHash) ?? {};
  if (!block || block.hasReceipts || isNull(result)) return nullWhenPending(result);
  await context.chain?.fetch({ hash: block.hash }).catch(() => undefined);
  const stored = storedPart("receipt", transactionHash, context);
  return stored ? ownedJson(stored) : nullWhenPending(result);
}

type Asking = Pick<CallContext, "ask">;

/** A node that removed the receipts of a block tells none, as of an empty block, or null, as of an unknown one. */
const BY_NONE: CrossCheckRule = {
  name: "no receipts",
  isUncertain: (reply) =>
    BY_NULL.isUncertain(reply) || (reply.kind === "result" && reply.json.equals(NONE)),
};
const NONE = Buffer.from("[]");

/** How many calls for one block are in flight at the same time, so that they do not fill the upstream's queue. */
const AT_ONCE = 16;
const ATTEMPTS = 2;
const DIALECTS = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"];

/**
 * All receipts of one block, by a method that the upstreams have.
 * @returns `null` when the block is unknown, `[]` when it is known and empty.
 */
async function receiptsOf(pointer: FixedPointer, context: Asking): Promise<RawJson> {
  const paramsJson = JSON.stringify([pointedText(pointer)]);
  for (const dialect of DIALECTS) {
    try {
      return await nullWhenUnknown(context.ask(dialect, paramsJson, { crossCheck: BY_NONE }));
    } catch (thrown) {
      if (!isMethodMissing(thrown)) throw thrown;
    }
  }
  return oneByOne(pointer, context);
}

async function oneByOne(pointer: FixedPointer, context: Asking): Promise<RawJson> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const block = await readBlock(pointer, context);
    if (!block) return "null";
    const receipts = await readReceipts(block, context);
    if (receipts) return `[${receipts.join(",")}]`;
  }
  throw errors.blockChanged();
}

/** The receipts in the order of the block. Undefined when a reorg has removed a receipt, or moved it to another block. */
async function readReceipts(
  block: BlockOutline,
  context: Asking,
): Promise<readonly string[] | undefined> {
  const receipts: string[] = [];
  for (let start = 0; start < block.transactions.length; start += AT_ONCE) {
    const transactions = block.transactions.slice(start, start + AT_ONCE);
    const asked = transactions.map((transaction) =>
      nullWhenUnknown(context.ask("eth_getTransactionReceipt", JSON.stringify([transaction]))),
    );
    const some = await Promise.all(asked);
    if (!some.every((json) => isOfBlock(json, block.hash))) return undefined;
    receipts.push(...some.map((json) => json.toString("utf8")));
  }
  return receipts;
}

function isOfBlock(json: Buffer, wanted: string): boolean {
  const [blockHash] = isNull(json) ? [] : (findMembers(json, ["blockHash"]) ?? []);
  return (
    blockHash !== undefined && textOf(json, blockHash).toLowerCase() === `"${wanted.toLowerCase()}"`
  );
}
