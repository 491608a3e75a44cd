// A block whose transactions are to be traced: from the followed chain, or from the nodes.

import type { Position } from "../../chain/block-record.ts";
import type { BlockReference } from "../../evm/block-reference.ts";
import { isHash, isQuantity, toNumber } from "../../evm/values.ts";
import { isJson, type Json } from "../../proofs/json.ts";
import { type FixedPointer, findBlock, MAY_LAG, nullWhenUnknown, settle } from "../block-lookup.ts";
import type { CallContext } from "../method.ts";
import { isMined, type MinedTransaction, minedTransaction, rulesOf } from "./mined-transaction.ts";

export type MinedBlock = {
  readonly position: Position;
  readonly transactions: readonly MinedTransaction[];
  /** As QUANTITY. */
  readonly gasLimit: string;
};

/** undefined when the block is unknown. */
export async function findMinedBlock(
  reference: BlockReference,
  context: CallContext,
): Promise<MinedBlock | undefined> {
  const pointer = await settle(reference, context);
  const json = pointer && (await blockJson(pointer, context));
  if (!json) return undefined;
  const { hash, number, transactions, gasLimit } = json;
  if (!isHash(hash) || !isQuantity(number) || !Array.isArray(transactions)) return undefined;
  const position = { number: toNumber(number), hash: hash.toLowerCase() };
  const rules = await rulesOf(position, context);
  return {
    position,
    gasLimit: isQuantity(gasLimit) ? gasLimit : "0x0",
    transactions: transactions
      .filter(isMined)
      .map((told) =>
        minedTransaction(told, { block: position, index: toNumber(told.transactionIndex) }, rules),
      ),
  };
}

async function blockJson(pointer: FixedPointer, context: CallContext): Promise<Json | undefined> {
  const found = await findBlock(pointer, context);
  if (found === "unknown") return undefined;
  const bytes = found === "elsewhere" ? await askBlock(pointer, context) : found.withTransactions();
  const json: unknown = JSON.parse(bytes.toString());
  return isJson(json) ? json : undefined;
}

const askBlock = (pointer: FixedPointer, context: CallContext): Promise<Buffer> => {
  const [method, reference] =
    pointer.kind === "hash"
      ? ["eth_getBlockByHash", pointer.hash]
      : ["eth_getBlockByNumber", pointer.number];
  return nullWhenUnknown(context.ask(method, JSON.stringify([reference, true]), MAY_LAG));
};
