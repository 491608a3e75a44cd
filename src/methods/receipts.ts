// Receipts: of one transaction, and of all of a block.
import { z } from "zod";
import { type BlockReference, blockReference, plainReference } from "../evm/block-reference.ts";
import { receipt } from "../evm/results.ts";
import { hash } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { anyContract } from "../namespaces/read-contracts.ts";
import { isNull, MAY_LAG, nullWhenUnknown, settle } from "./block-lookup.ts";
import { receiptsOf } from "./block-receipts.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";
import { hasValue } from "./pending.ts";
import { placeOnChain } from "./place-on-chain.ts";
import { findBlock, fromStore, storedAt } from "./stored-lookup.ts";

/** The same under two names: the specification's, and the one that most nodes use today. */
const receiptsByBlock = (name: string): Method =>
  defineMethod({
    name,
    group: "blocks",
    isSpecified: true,
    isNullNoBlock: true,
    summary: "All receipts of a block; null when the block is unknown or pending.",
    cost: 10,
    params: { block: blockReference },
    result: z.array(receipt).nullable(),
    freshness: "until next block",
    contractsOf: anyContract, // with the logs of all
    answer: ({ block }, context) => {
      const stored = storedAt(block, context);
      return stored
        ? fromStore(stored.receiptsToSend(), stored, context)
        : findReceipts(block, context);
    },
  });

export const receiptMethods = [
  defineMethod({
    name: "eth_getTransactionReceipt",
    group: "blocks",
    isSpecified: true,
    summary: "The receipt of a mined transaction; null while it is pending or unknown.",
    cost: 3,
    params: { transactionHash: hash },
    result: receipt.nullable(),
    freshness: "until next block",
    answer: ({ transactionHash }, context) =>
      storedReceipt(transactionHash, context) ?? findReceipt(transactionHash, context),
  }),
  receiptsByBlock("eth_getTransactionReceiptsByBlock"),
  receiptsByBlock("eth_getBlockReceipts"),
];

async function findReceipts(block: BlockReference, context: CallContext): Promise<AnswerJson> {
  // Specification: a pending transaction has no receipt. (geth answers those of its own draft.)
  if (plainReference(block) === "pending") return "null";
  const pointer = await settle(block, context);
  if (!pointer) return "null";
  const found = await findBlock(pointer, context);
  if (found === "unknown") return "null";
  return found === "elsewhere"
    ? receiptsOf(pointer, context)
    : fromStore(found.receiptsToSend(), found, context);
}

function storedReceipt(transactionHash: string, context: CallContext): AnswerJson | undefined {
  const place = context.chain?.transaction(transactionHash);
  const json = place?.block.receipt(place.index);
  return place && json && fromStore(json, place.block, context);
}

/** Of a transaction that the chain does not have: pending, old, in a block that is coming, or unknown. */
async function findReceipt(transactionHash: string, context: CallContext): Promise<AnswerJson> {
  const asked = context.ask("eth_getTransactionReceipt", context.paramsJson, MAY_LAG);
  const result = await nullWhenUnknown(asked);
  const place = await placeOnChain(result, context);
  if (place === "old") return nullWhenPending(result);
  if (place === "pending") return "null";
  const stored = place.transaction(transactionHash);
  const json = stored?.block.receipt(stored.index);
  return stored && json ? fromStore(json, stored.block, context) : "null";
}

/** Some nodes give receipts of pending transactions, without a block. */
function nullWhenPending(result: Buffer): AnswerJson {
  if (isNull(result)) return result;
  const [blockHash] = findMembers(result, ["blockHash"]) ?? [];
  return hasValue(result, blockHash) ? result : "null";
}
