// Transactions, receipts and logs against the roots and the bloom of the header.
import { keccak256 } from "../evm/keccak.ts";
import type { Work } from "../lib/turns.ts";
import { BlockBloom, hasBitsBeyond } from "./bloom.ts";
import { isAbsent, type Json, sameHex, shown } from "./json.ts";
import { hashTrie } from "./ordered-trie.ts";
import { compare, differs, type PartProof, proven, unproven } from "./part-proof.ts";
import { encodeReceipt } from "./receipt.ts";
import { RlpWriter } from "./rlp-writer.ts";
import { encodeTransaction, isSigned, knownType } from "./transaction.ts";

/** A transaction may be its hash only, which proves nothing. */
export type Transaction = Json | string;

export type BlockLists = {
  readonly block: Json;
  readonly transactions: readonly Transaction[];
  readonly receipts: readonly Json[] | undefined;
};

/** So many are looked at between two pauses: well under a millisecond's work. */
const STEP = 64;

/** Also whether some transaction is of no type of Ethereum, or nobody signed it. */
export function* checkTransactions(
  transactions: readonly Transaction[],
  block: Json,
  isForeignHeader: boolean,
): Work<{ partProof: PartProof; hasForeign: boolean }> {
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  let hasForeign = false;
  for (const [index, transaction] of transactions.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (typeof transaction === "string") continue;
    hasForeign ||= isForeignTransaction(transaction);
    const bytes = encodeTransaction(transaction, writer);
    if (!bytes) continue;
    encoded.push(bytes);
    if (!sameHex(transaction["hash"], keccak256(bytes)))
      return {
        partProof: differs(`transaction ${index} does not have its hash`, isForeignHeader),
        hasForeign,
      };
  }
  const isWhole = encoded.length === transactions.length;
  const partProof = isWhole
    ? compare(block["transactionsRoot"], yield* hashTrie(encoded), isForeignHeader)
    : unproven;
  return { partProof, hasForeign };
}

/** Of Optimism, Arbitrum, Polygon and others, whose bridges put transactions into blocks. */
export const isForeignTransaction = (transaction: Json): boolean =>
  knownType(transaction["type"]) === undefined || !isSigned(transaction);

export function* checkReceipts(
  { block, transactions, receipts }: BlockLists,
  isForeign: boolean,
): Work<PartProof> {
  if (!receipts) return unproven;
  const writer = new RlpWriter();
  const encoded: Uint8Array[] = [];
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const type = knownType(typeOf(receipt, transactions[index]));
    if (type === undefined) return unproven;
    const bytes = yield* encodeReceipt(receipt, type, writer);
    if (!bytes) return differs(`receipt ${index} cannot be encoded`, isForeign);
    encoded.push(bytes);
  }
  return compare(block["receiptsRoot"], yield* hashTrie(encoded), isForeign);
}

/** Nodes of old give receipts no type. */
function typeOf({ type }: Json, transaction: Transaction | undefined): unknown {
  if (!isAbsent(type) || typeof transaction === "string") return type;
  return transaction?.["type"];
}

export function* checkBloom(
  block: Json,
  receipts: readonly Json[] | undefined,
  isForeign: boolean,
): Work<PartProof> {
  if (!receipts) return unproven;
  const bloom = new BlockBloom();
  let partProof = proven;
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const computed = yield* bloom.add(receipt["logs"]);
    const one = compareBloom(receipt["logsBloom"], computed, `receipt ${index}`, isForeign);
    if (one.kind === "failed") return one;
    if (one.kind === "unproven") partProof = unproven;
  }
  const whole = compareBloom(block["logsBloom"], bloom.ofBlock(), "block", isForeign);
  return whole.kind === "proven" ? partProof : whole;
}

/** Some networks leave logs out of blooms; none has a bloom of logs that are not there. */
function compareBloom(
  stated: unknown,
  computed: string,
  owner: string,
  isForeign: boolean,
): PartProof {
  if (sameHex(stated, computed)) return proven;
  const reason = `the bloom of the ${owner} is not that of its logs: ${shown(stated)}`;
  return differs(reason, isForeign && !hasBitsBeyond(stated, computed));
}
