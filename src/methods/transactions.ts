// Methods that find a transaction by its hash or its position in a block, and those that send one.
import { z } from "zod";
import type { StoredBlock } from "../chain/stored-block.ts";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { receipt, transaction } from "../evm/results.ts";
import { hashOfSigned } from "../evm/transaction-hash.ts";
import { data, hash, quantity, toNumber } from "../evm/values.ts";
import { type BorrowedJson, ownedJson, type RawJson } from "../jsonrpc/raw-json.ts";
import { conditionedContracts } from "../namespaces/read-contracts.ts";
import { byHash, byNumber, isBeyondAnyBlock, ofBlock } from "./block-lookup.ts";
import { askByHash, askOfBlock, MAY_LAG, nullWhenUnknown } from "./forwarding.ts";
import { type CallContext, defineMethod, fromStore, storedPart } from "./method.ts";
import { chainReaching, withWholePosition } from "./pending.ts";
import { receiptOf, waitMsOf } from "./receipt-wait.ts";
import { SENDING, send, submit } from "./submission.ts";

const methods = { send: "eth_sendRawTransaction", find: "eth_getTransactionByHash" };

const LOOKUP = { workKind: "blocks", cost: 3 } as const;

const waitTime = z
  .union([z.number(), z.string()], { error: "want a number of milliseconds" })
  .describe(
    "How long the gateway waits for the receipt, in milliseconds: a number or a Quantity. Left out, or no positive integer: `limits.receipts.wait`, 2 s.",
  );

const conditions = z
  .looseObject({}, { error: "want an object of conditions" })
  .describe(
    "Such as knownAccounts, blockNumberMin, blockNumberMax, timestampMin and timestampMax; the node checks them.",
  );

type Indexed = { readonly index: string };

const indexed = {
  isNone: ({ index }: Indexed): boolean => isBeyondAnyBlock(index),
  read: (block: StoredBlock, { index }: Indexed, context: CallContext): RawJson =>
    fromStore(ownedJson(block.transaction(toNumber(index)) ?? "null"), block, context),
};

export const transactionMethods = [
  defineMethod({
    name: "eth_getTransactionByHash",
    ...LOOKUP,
    isSpecified: true,
    summary: "The transaction with this hash, also a pending one; null when it is unknown.",
    params: { transactionHash: hash },
    result: transaction.nullable(),
    freshness: "until next block",
    answer: ({ transactionHash }, context) => transactionJson(transactionHash, context),
  }),
  defineMethod({
    name: "eth_getTransactionByBlockHashAndIndex",
    ...LOOKUP,
    summary: "The transaction at this index of the block; null when there is none.",
    params: { blockHash: hash, index: quantity },
    result: transaction.nullable(),
    freshness: "forever",
    answer: ofBlock<{ blockHash: string; index: string }>({
      ...indexed,
      ...byHash,
      ask: (_, context) => askByHash("eth_getTransactionByBlockHashAndIndex", context),
    }),
  }),
  defineMethod({
    name: "eth_getTransactionByBlockNumberAndIndex",
    ...LOOKUP,
    summary: "The transaction at this index of the block; null when there is none.",
    params: { block: blockNumberOrTag, index: quantity },
    result: transaction.nullable(),
    freshness: "until next block",
    answer: ofBlock<{ block: string; index: string }>({
      ...indexed,
      ...byNumber,
      ask: async (args, context) => {
        const asked = askOfBlock("eth_getTransactionByBlockNumberAndIndex", args, context);
        return withWholePosition(await asked, args.block === "pending");
      },
    }),
  }),
  defineMethod({
    name: "eth_sendRawTransaction",
    ...SENDING,
    answer: async ({ transaction: raw }, context) => {
      const sent = await submit({ ...methods, signed: hashOfSigned(raw) }, context);
      context.chain?.hurry(); // a development node has mined it already
      return sent;
    },
  }),
  defineMethod({
    name: "eth_sendRawTransactionSync",
    ...SENDING,
    cost: 5, // sends the transaction, and reads its receipt
    summary:
      "Sends a signed transaction and returns its receipt once it is in a block (EIP-7966); error 4, with the hash as data, when that takes too long.",
    params: { transaction: data, timeout: waitTime.optional() },
    result: receipt,
    answer: async ({ transaction: raw, timeout }, context) => {
      const submission = {
        ...methods,
        signed: hashOfSigned(raw),
        paramsJson: JSON.stringify([raw]),
      };
      const sent = await send(submission, context);
      const wait = context.waitForChain(waitMsOf(timeout, context.network.limits.receipts));
      return receiptOf(sent, wait, context);
    },
  }),
  defineMethod({
    name: "eth_sendRawTransactionConditional",
    ...SENDING,
    summary:
      "Sends a signed transaction that is included only under the given conditions (ERC-7796), by nodes that have the method, and returns its hash.",
    params: { transaction: data, conditions },
    contractsOf: conditionedContracts,
    answer: ({ transaction: raw }, context) => {
      const conditional = { ...methods, send: "eth_sendRawTransactionConditional" };
      return submit({ ...conditional, signed: hashOfSigned(raw) }, context);
    },
  }),
];

/** The transaction from the followed chain or from the nodes; null when it is unknown. */
export const transactionJson = (
  transactionHash: string,
  context: CallContext,
): BorrowedJson | Promise<RawJson> =>
  storedPart("transaction", transactionHash, context) ?? findTransaction(transactionHash, context);

/** Finds a transaction that no stored block has: it is pending, old, in a newer block than the head, or unknown. */
async function findTransaction(transactionHash: string, context: CallContext): Promise<RawJson> {
  const paramsJson = JSON.stringify([transactionHash]);
  const result = await nullWhenUnknown(context.ask(methods.find, paramsJson, MAY_LAG));
  const chain = await chainReaching(result, context);
  if (chain === "old") return withWholePosition(result);
  if (chain === "pending") return withWholePosition(result, true);
  // Callers do not see a block that is not on the followed chain, so for them the transaction is still pending.
  const stored = storedPart("transaction", transactionHash, context, chain);
  return stored ? ownedJson(stored) : withWholePosition(result, true);
}
