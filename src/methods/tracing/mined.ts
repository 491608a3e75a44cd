// Finds a mined transaction, or a block with its transactions, in the followed chain or at the nodes, with the values
// that traces need.

import type { Position } from "../../chain/stored-block.ts";
import type { BlockReference } from "../../evm/block-reference.ts";
import { isHash, isQuantity, toNumber } from "../../evm/values.ts";
import { isJson, type Json } from "../../proofs/json.ts";
import { type GasRules, gasRulesAt, intrinsicGas } from "../../traces/gas.ts";
import {
  askBlock,
  type FixedPointer,
  findBlock,
  isBeyondAnyBlock,
  settle,
} from "../block-lookup.ts";
import { MAY_LAG } from "../forwarding.ts";
import type { CallContext } from "../method.ts";
import { transactionJson } from "../transactions.ts";

export type MinedPosition = { readonly block: Position; readonly index: number };

export type MinedTransaction = MinedPosition & {
  readonly hash: string;
  /** The transaction as the node wrote it, parsed. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The gas that the transaction paid before its first instruction; undefined when that is not known. */
  readonly intrinsicGas: number | undefined;
};

/** The mined transaction; undefined when it is unknown or pending. */
export async function findMined(
  transactionHash: string,
  context: CallContext,
): Promise<MinedTransaction | undefined> {
  const json: unknown = JSON.parse(String(await transactionJson(transactionHash, context)));
  if (!isMined(json)) return undefined;
  const number = toNumber(json.blockNumber);
  const block = { number, hash: json.blockHash.toLowerCase() };
  // The store takes in an old block, proven, so that it can keep the traces with it.
  if (context.chain && !context.chain.blockOf(block.hash, "if held"))
    await context.chain.fetch({ hash: block.hash }, "if held");
  const rules = await rulesOf(block, context);
  return minedTransaction(json, block, rules);
}

type MinedJson = Readonly<Record<string, unknown>> & {
  readonly hash: string;
  readonly blockHash: string;
  readonly blockNumber: string;
  readonly transactionIndex: string;
};

function isMined(json: unknown): json is MinedJson {
  if (typeof json !== "object" || json === null) return false;
  const { hash, blockHash, blockNumber, transactionIndex } = json as Record<string, unknown>;
  if (!isHash(hash) || !isHash(blockHash)) return false;
  if (!isQuantity(blockNumber) || !isQuantity(transactionIndex)) return false;
  return !isBeyondAnyBlock(transactionIndex) && Number.isSafeInteger(toNumber(blockNumber));
}

function minedTransaction(json: MinedJson, block: Position, rules: GasRules): MinedTransaction {
  const isCreate = (json["to"] ?? null) === null;
  const hash = json.hash.toLowerCase();
  const index = toNumber(json.transactionIndex);
  return { block, index, hash, json, intrinsicGas: intrinsicGas(json, { isCreate, rules }) };
}

/** The rules by which the transactions of the block pay for gas. */
export const rulesOf = async (block: Position, context: CallContext): Promise<GasRules> =>
  gasRulesAt(block.number, context.network.chainId, await hasWithdrawals(block.hash, context));

async function hasWithdrawals(blockHash: string, context: CallContext): Promise<boolean> {
  const json =
    context.chain?.blockOf(blockHash, "if held")?.withHashes() ??
    (await context.ask("eth_getBlockByHash", JSON.stringify([blockHash, false]), MAY_LAG));
  const block = JSON.parse(json.toString()) as { withdrawalsRoot?: unknown } | null;
  return (block?.withdrawalsRoot ?? null) !== null;
}

export type MinedBlock = {
  readonly position: Position;
  readonly transactions: readonly MinedTransaction[];
  /** In gas, as a QUANTITY. */
  readonly gasLimit: string;
};

/** The block with its mined transactions; undefined when it is unknown. */
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
      .map((mined) => minedTransaction(mined, position, rules)),
  };
}

async function blockJson(pointer: FixedPointer, context: CallContext): Promise<Json | undefined> {
  const found = await findBlock(pointer, context);
  if (found === "unknown") return undefined;
  const bytes =
    found === "elsewhere"
      ? await askBlock(pointer, { ...MAY_LAG, fullTransactions: true }, context)
      : found.withTransactions();
  const json: unknown = JSON.parse(bytes.toString());
  return isJson(json) ? json : undefined;
}
