// Checks transactions, receipts and logs against the roots and the bloom of the header.

import type { BlockRules, Fit } from "../evm/chains/block-rules.ts";
import { keccak256 } from "../evm/keccak.ts";
import { numberIn } from "../evm/values.ts";
import type { Work } from "../lib/turns.ts";
import { BlockBloom } from "./bloom.ts";
import {
  canBeEncoded,
  encodeByForms,
  encodeReceipt,
  encodeTransaction,
  ethereumType,
  formsOf,
  isSigned,
  nameOfType,
  typeByteOf,
} from "./encode.ts";
import {
  compare,
  differs,
  isAbsent,
  type Json,
  type PartProof,
  proven,
  sameHex,
  shown,
  softer,
  unproven,
} from "./json.ts";
import { hashTrie } from "./ordered-trie.ts";
import { RlpWriter } from "./rlp-writer.ts";

/** A whole transaction, or its hash alone, which proves nothing. */
export type Transaction = Json | string;

export type BlockLists = {
  readonly block: Json;
  readonly transactions: readonly Transaction[];
  readonly receipts: readonly Json[] | undefined;
};

/** The rules of the block's chain, as far as the proof of its header lets them be certain. */
export type ListRules = {
  readonly rules: BlockRules;
  readonly fit: BlockRules["fit"];
};

export type CheckedTransactions = {
  readonly partProof: PartProof;
  /** The indexes of transactions that are not Ethereum's: of other types, or not signed. */
  readonly foreign: ReadonlySet<number>;
  /** The indexes of transactions that are neither in the roots nor in the bloom. */
  readonly leftOut: ReadonlySet<number>;
};

/** Items checked between two pauses: well under a millisecond's work. */
const STEP = 64;

export function* checkTransactions(
  transactions: readonly Transaction[],
  block: Json,
  options: ListRules,
): Work<CheckedTransactions> {
  const { leftOut: kind } = options.rules;
  // Bor appends the state sync to the block's transactions.
  const notLast = kind === "state sync" ? "none" : kind;
  const last = transactions.length - 1;
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  const [foreign, leftOut] = [new Set<number>(), new Set<number>()];
  let failure: PartProof = proven;
  for (const [index, transaction] of transactions.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (isLeftOut(transaction, block, index === last ? kind : notLast)) {
      leftOut.add(index);
      foreign.add(index);
      continue;
    }
    if (typeof transaction === "string") continue;
    const standard = encodeTransaction(transaction, writer);
    const isStandard = standard && sameHex(transaction["hash"], keccak256(standard));
    if (!isStandard || !isSigned(transaction)) foreign.add(index);
    const bytes = isStandard ? standard : encodeByForms(transaction, options.rules, writer);
    if (bytes) encoded.push(bytes);
    else failure = worse(failure, whyNotEncoded(transaction, index, standard, options));
    if (failure.kind === "failed") return { partProof: failure, foreign, leftOut };
  }
  if (encoded.length + leftOut.size < transactions.length)
    return { partProof: failure === proven ? unproven : failure, foreign, leftOut };
  const fit = transactions.some((each) => isUntried(each, options.rules))
    ? softer(options.fit.transactions)
    : options.fit.transactions;
  const root = compare(block["transactionsRoot"], yield* hashTrie(encoded), fit);
  return { partProof: besides(leftOut, root), foreign, leftOut };
}

/** Whether a node shows the transaction in the block although neither roots nor bloom cover it. */
function isLeftOut(transaction: Transaction, block: Json, kind: BlockRules["leftOut"]): boolean {
  if (kind === "none") return false;
  if (kind === "free of charge")
    return typeof transaction !== "string" && transaction["gasPrice"] === "0x0";
  const hash = typeof transaction === "string" ? transaction : transaction["hash"];
  return sameHex(hash, stateSyncHash(block));
}

/** Bor's hash of the transaction that stands for the messages from Ethereum. */
function stateSyncHash({ number, hash }: Json): string | undefined {
  const height = numberIn(number);
  if (height === undefined || typeof hash !== "string") return undefined;
  const digits = height.toString(16).padStart(16, "0");
  const prefix = Buffer.from("matic-bor-receipt-");
  return keccak256(Buffer.concat([prefix, Buffer.from(`${digits}${hash.slice(2)}`, "hex")]));
}

/** The proof of a transaction that does not have its hash by any form; `standard` is its encoding as Ethereum's. */
function whyNotEncoded(
  transaction: Json,
  index: number,
  standard: Uint8Array | undefined,
  { rules, fit }: ListRules,
): PartProof {
  const isEthereums = ethereumType(transaction["type"]) !== undefined && isSigned(transaction);
  // Type numbers collide between chains, so elsewhere a form that does not fit is that of another chain.
  const isOwn = fit.transactions === "must" && formsOf(transaction, rules.transactions).length > 0;
  if (!isEthereums && !isOwn) return unproven;
  const canBeHashed = isEthereums ? standard !== undefined : canBeEncoded(transaction, rules);
  if (!canBeHashed)
    return differs(`transaction ${index} cannot be encoded`, softer(fit.transactions));
  const isUnsure = !isEthereums && isUntried(transaction, rules);
  const reason = `transaction ${index} does not have its hash`;
  return differs(reason, isUnsure ? softer(fit.transactions) : fit.transactions);
}

const isUntried = (transaction: Transaction, { untried }: BlockRules): boolean =>
  untried.length > 0 &&
  typeof transaction !== "string" &&
  untried.includes(nameOfType(transaction["type"]));

const ranks = ["proven", "unproven", "odd", "failed"] as const;

const worse = (one: PartProof, other: PartProof): PartProof =>
  ranks.indexOf(other.kind) > ranks.indexOf(one.kind) ? other : one;

/** A part is not proven whole where nodes show more than it covers. */
const besides = (leftOut: ReadonlySet<number>, partProof: PartProof): PartProof =>
  leftOut.size > 0 && partProof.kind === "proven" ? unproven : partProof;

export function* checkReceipts(
  { block, transactions, receipts }: BlockLists,
  { leftOut }: Pick<CheckedTransactions, "leftOut">,
  { rules, fit }: ListRules,
): Work<PartProof> {
  if (!receipts) return unproven;
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  let isGuess = false;
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (leftOut.has(index)) continue;
    const type = typeOf(receipt, transactions[index]);
    const byte = typeByteOf(type);
    if (byte === undefined) return unproven;
    const name = nameOfType(type);
    const more = Object.hasOwn(rules.receipts, name) ? rules.receipts[name] : undefined;
    // Nearly all chains encode receipts of their own types as Ethereum does. Only the root can tell.
    isGuess ||= ethereumType(type) === undefined && !Object.hasOwn(rules.transactions, name);
    const bytes = yield* encodeReceipt(receipt, { byte, more }, writer);
    if (!bytes) return differs(`receipt ${index} cannot be encoded`, softer(fit.receipts));
    encoded.push(bytes);
  }
  const root = yield* hashTrie(encoded);
  return besides(leftOut, compare(block["receiptsRoot"], root, isGuess ? "may" : fit.receipts));
}

/** The receipt's type, or that of its transaction: old nodes write receipts without a type. */
function typeOf({ type }: Json, transaction: Transaction | undefined): unknown {
  if (!isAbsent(type) || typeof transaction === "string") return type;
  return transaction?.["type"];
}

export function* checkBloom(
  { block, receipts }: Pick<BlockLists, "block" | "receipts">,
  { leftOut }: Pick<CheckedTransactions, "leftOut">,
  fit: Fit,
): Work<PartProof> {
  if (!receipts) return unproven;
  const bloom = new BlockBloom();
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (leftOut.has(index)) continue;
    const computed = yield* bloom.add(receipt["logs"]);
    const one = compareBloom(receipt["logsBloom"], computed, `receipt ${index}`, fit);
    if (one.kind !== "proven") return one;
  }
  return besides(leftOut, compareBloom(block["logsBloom"], bloom.ofBlock(), "block", fit));
}

const compareBloom = (stated: unknown, computed: string, owner: string, fit: Fit): PartProof =>
  sameHex(stated, computed)
    ? proven
    : differs(`the bloom of the ${owner} is not that of its logs: ${shown(stated)}`, fit);
