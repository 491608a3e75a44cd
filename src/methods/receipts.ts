// Receipts: of one transaction, and of all of a block.
import { z } from "zod";
import { blockReference, plainReference } from "../evm/block-reference.ts";
import { receipt } from "../evm/results.ts";
import { hash } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/envelope.ts";
import { findMembers } from "../jsonrpc/members.ts";
import { isNull, nullWhenUnknown, settle } from "./block-lookup.ts";
import { receiptsOf } from "./block-receipts.ts";
import { defineMethod, type Method } from "./method.ts";
import { hasValue } from "./pending.ts";

/** The same under two names: the specification's, and the one that most nodes use today. */
const receiptsByBlock = (name: string): Method =>
  defineMethod({
    name,
    summary: "All receipts of a block; null when the block is unknown or pending.",
    cost: 10,
    params: { block: blockReference },
    result: z.array(receipt).nullable(),
    freshness: "until next block",
    answer: async ({ block }, context) => {
      // Specification: a pending transaction has no receipt. (geth answers those of its own draft.)
      if (plainReference(block) === "pending") return "null";
      const pointer = await settle(block, context);
      return pointer ? receiptsOf(pointer, context) : "null";
    },
  });

export const receiptMethods = [
  defineMethod({
    name: "eth_getTransactionReceipt",
    summary: "The receipt of a mined transaction; null while it is pending or unknown.",
    cost: 3,
    params: { transactionHash: hash },
    result: receipt.nullable(),
    freshness: "until next block",
    answer: async (_, context) =>
      nullWhenPending(
        await nullWhenUnknown(context.ask("eth_getTransactionReceipt", context.paramsJson)),
      ),
  }),
  receiptsByBlock("eth_getTransactionReceiptsByBlock"),
  receiptsByBlock("eth_getBlockReceipts"),
];

/** Some nodes give receipts of pending transactions, without a block. */
function nullWhenPending(result: Buffer): RawJson {
  if (isNull(result)) return result;
  const [blockHash] = findMembers(result, ["blockHash"]) ?? [];
  return hasValue(result, blockHash) ? result : "null";
}
