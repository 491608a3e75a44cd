// Proves a block, as a node wrote it, against its own hashes: whoever answers a block of this hash
// has answered this block. Pure, and never throws whatever the node wrote.
import { atOnce, type Work } from "../lib/turns.ts";
import { checkHeader, checkUncles, checkWithdrawals, type HeaderEncoding } from "./check-header.ts";
import { checkBloom, checkReceipts, checkTransactions } from "./check-lists.ts";
import { isAbsent, isJson, type Json } from "./json.ts";
import { type PartProof, unproven } from "./part-proof.ts";
import { misplaced } from "./places.ts";

export type { Json };

export type BlockParts = {
  /** With whole transactions (not hashes), as JSON.parse gave it. */
  readonly block: Json;
  /** In order of the block; left out when they were not fetched: then what depends on them is unproven. */
  readonly receipts?: readonly Json[];
  /** Headers, where they were fetched. */
  readonly uncles?: readonly Json[];
};

export type BlockPart =
  | "header hash"
  | "transactions root"
  | "receipts root"
  | "logs bloom"
  | "withdrawals root"
  | "uncles hash";

export type Proof =
  /** With none unproven the block is what its hash says, up to what no hash covers. */
  | { readonly kind: "proven"; readonly unproven: readonly BlockPart[] }
  | { readonly kind: "failed"; readonly part: BlockPart | "places"; readonly reason: string };

export type NetworkRules = {
  /** Where they are known, a header that does not hash is a lie; elsewhere it may be unproven. */
  readonly headers: HeaderEncoding;
  /** The block from which receipts state a status instead of a root (EIP-658), where it is known. */
  readonly byzantium?: number | undefined;
};

export const proveBlock = (parts: BlockParts, options: NetworkRules): Proof =>
  atOnce(proveInSteps(parts, options));

/** The same in steps: a block may be huge. */
export function* proveInSteps(parts: BlockParts, options: NetworkRules): Work<Proof> {
  const { block } = parts;
  if (!isJson(block)) return failed("header hash", "this is no block");
  const { transactions, withdrawals } = block;
  if (!areEntries(transactions, isTransaction))
    return failed("transactions root", "the block has no list of transactions");
  const receipts = parts.receipts;
  if (receipts !== undefined && !areEntries(receipts, isJson))
    return failed("receipts root", "this is no list of receipts");

  const header = checkHeader(block, options.headers);
  const isForeignHeader = header.kind === "unproven";
  const ofTransactions = yield* checkTransactions(transactions, block, isForeignHeader);
  // Of bridges and rollups: their receipts and withdrawals follow rules of their own.
  const { hasForeign } = ofTransactions;
  const isForeign = isForeignHeader || hasForeign;
  const checked = yield* checkReceipts({ block, transactions, receipts }, isForeign);
  const ofReceipts = checked.kind === "failed" && areRootless(parts, options) ? unproven : checked;
  const partProofs: readonly (readonly [BlockPart, PartProof])[] = [
    ["header hash", header],
    ["transactions root", ofTransactions.partProof],
    ["receipts root", ofReceipts],
    ["logs bloom", yield* checkBloom(block, receipts, isForeign)],
    [
      "withdrawals root",
      yield* checkWithdrawals({ block, withdrawals }, { isForeignHeader, hasForeign }),
    ],
    ["uncles hash", checkUncles(block, parts.uncles, isForeignHeader)],
  ];
  for (const [part, partProof] of partProofs)
    if (partProof.kind === "failed") return failed(part, partProof.reason);
  const reason = yield* misplaced(
    { block, transactions, receipts },
    { isForeignHeader, areReceiptsProven: ofReceipts.kind === "proven" && !hasForeign },
  );
  if (reason !== undefined) return failed("places", reason);
  return {
    kind: "proven",
    unproven: partProofs.filter(([, { kind }]) => kind === "unproven").map(([part]) => part),
  };
}

/** Erigon keeps no roots of receipts before Byzantium: what it gives cannot be encoded. */
const areRootless = ({ block, receipts = [] }: BlockParts, { byzantium = 0 }: NetworkRules) =>
  Number(block["number"]) < byzantium && receipts.some(({ root }) => isAbsent(root));

const failed = (part: BlockPart | "places", reason: string): Proof => ({
  kind: "failed",
  part,
  reason,
});

const isTransaction = (value: unknown): value is Json | string =>
  isJson(value) || typeof value === "string";

const areEntries = <T>(values: unknown, isEntry: (value: unknown) => value is T): values is T[] =>
  Array.isArray(values) && values.every(isEntry);
