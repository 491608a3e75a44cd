// Transactions: by hash, by their place in a block, and on their way in.
import type { StoredBlock } from "../chain/stored-block.ts";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { transaction } from "../evm/results.ts";
import { hashOfSigned } from "../evm/transaction-hash.ts";
import { data, hash, quantity, toNumber } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import {
  findBlock,
  findNumbered,
  fromStore,
  isBeyondAnyBlock,
  MAY_LAG,
  nullWhenUnknown,
  storedAt,
} from "./block-lookup.ts";
import { type CallContext, defineMethod } from "./method.ts";
import { askAt } from "./passing-on.ts";
import { placeOnChain, withWholePlace } from "./pending.ts";
import { submit } from "./submission.ts";

const methods = { send: "eth_sendRawTransaction", find: "eth_getTransactionByHash" };

const LOOKUP = { workKind: "blocks", cost: 3 } as const;

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
    summary: "The transaction at this place of the block; null when there is none.",
    params: { blockHash: hash, index: quantity },
    result: transaction.nullable(),
    freshness: "forever",
    answer: (args, context) => {
      const stored = storedAt(args.blockHash, context);
      return stored ? transactionAt(stored, args.index, context) : findByHash(args, context);
    },
  }),
  defineMethod({
    name: "eth_getTransactionByBlockNumberAndIndex",
    ...LOOKUP,
    summary: "The transaction at this place of the block; null when there is none.",
    params: { block: blockNumberOrTag, index: quantity },
    result: transaction.nullable(),
    freshness: "until next block",
    answer: (args, context) => {
      const stored = storedAt(args.block, context);
      return stored ? transactionAt(stored, args.index, context) : findByNumber(args, context);
    },
  }),
  defineMethod({
    name: "eth_sendRawTransaction",
    workKind: "submission",
    summary: "Sends a signed transaction and answers its hash, also when it was sent before.",
    cost: 3,
    params: { transaction: data },
    result: hash,
    freshness: "unknown",
    kind: "write",
    answer: async ({ transaction: raw }, context) => {
      const sent = await submit({ ...methods, signed: hashOfSigned(raw) }, context);
      context.chain?.hurry(); // a development node has mined it already
      return sent;
    },
  }),
];

/** The transaction from the followed chain or from the nodes; null when it is unknown. */
export const transactionJson = (
  transactionHash: string,
  context: CallContext,
): RawJson | Promise<RawJson> =>
  storedTransaction(transactionHash, context) ?? findTransaction(transactionHash, context);

function storedTransaction(transactionHash: string, context: CallContext): RawJson | undefined {
  const place = context.chain?.transaction(transactionHash);
  const json = place?.block.transaction(place.index);
  return place && json && fromStore(json, place.block, context);
}

/** A transaction that the chain does not have: pending, old, in a block that is coming, or unknown. */
async function findTransaction(transactionHash: string, context: CallContext): Promise<RawJson> {
  const paramsJson = JSON.stringify([transactionHash]);
  const asked = context.ask("eth_getTransactionByHash", paramsJson, MAY_LAG);
  const result = await nullWhenUnknown(asked);
  const place = await placeOnChain(result, context);
  if (place === "old") return withWholePlace(result);
  if (place === "pending") return withWholePlace(result, true);
  const stored = place.transaction(transactionHash);
  const json = stored?.block.transaction(stored.index);
  // In the world that callers are shown, a block that is not on the chain has mined nothing.
  return stored && json ? fromStore(json, stored.block, context) : withWholePlace(result, true);
}

const transactionAt = (block: StoredBlock, index: string, context: CallContext): RawJson =>
  fromStore(block.transaction(toNumber(index)) ?? "null", block, context);

type HashArgs = { readonly blockHash: string; readonly index: string };

async function findByHash({ blockHash, index }: HashArgs, context: CallContext): Promise<RawJson> {
  if (isBeyondAnyBlock(index)) return "null";
  const found = await findBlock({ kind: "hash", hash: blockHash }, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return transactionAt(found, index, context);
  const method = "eth_getTransactionByBlockHashAndIndex";
  return nullWhenUnknown(context.ask(method, context.paramsJson, MAY_LAG));
}

type NumberArgs = { readonly block: string; readonly index: string };

async function findByNumber(args: NumberArgs, context: CallContext): Promise<RawJson> {
  if (isBeyondAnyBlock(args.index)) return "null";
  const found = await findNumbered(args.block, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return transactionAt(found, args.index, context);
  const what = { given: args, at: "block" };
  return withWholePlace(
    await nullWhenUnknown(askAt("eth_getTransactionByBlockNumberAndIndex", what, context)),
    args.block === "pending",
  );
}
