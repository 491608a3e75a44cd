// Proves a block, as a node wrote it, against its own hash: a proven answer is the block with that hash. Pure; never
// throws, no matter how malformed the block is.

import type { BlockRules, Fit } from "../evm/chains/block-rules.ts";
import { blockRulesOf } from "../evm/chains/chain-rules.ts";
import { numberIn } from "../evm/values.ts";
import type { Work } from "../lib/turns.ts";
import { checkHeader, checkUncles, checkWithdrawals } from "./check-header.ts";
import { checkBloom, checkReceipts, checkTransactions } from "./check-lists.ts";
import { checkPlaces } from "./check-places.ts";
import { isAbsent, isJson, type Json, type PartProof, softer, unproven } from "./json.ts";

export type BlockParts = {
  /** The block as JSON.parse returned it, with whole transactions, not their hashes. */
  readonly block: Json;
  /** In the order of the transactions. Left out if not fetched: then the parts that need them are unproven. */
  readonly receipts?: readonly Json[];
  /** The uncles' headers, if they were fetched. */
  readonly uncles?: readonly Json[];
};

export type BlockPart =
  | "header hash"
  | "transactions root"
  | "receipts root"
  | "logs bloom"
  | "withdrawals root"
  | "uncles hash";

/** A part that does not fit the rules, where nothing proven contradicts it. */
export type Oddity = { readonly part: BlockPart | "places"; readonly reason: string };

export type Proof =
  /**
   * If `unproven` and `odd` are empty, the block is the one that its hash names, except for data that no hash covers.
   * A part in `odd` was checked and did not fit; a part in `unproven` alone is foreign to the rules, or was not fetched.
   */
  | {
      readonly kind: "proven";
      readonly unproven: readonly BlockPart[];
      readonly odd: readonly Oddity[];
    }
  | { readonly kind: "failed"; readonly part: BlockPart | "places"; readonly reason: string };

export type NetworkRules = {
  /** The chain's id decides which encodings are tried, and what is a lie where it does not fit. */
  readonly chainId: number;
};

/** Proves a block in steps, since a block may be huge. Returns the first part that is a lie, or the unproven parts. */
export function* proveInSteps(parts: BlockParts, { chainId }: NetworkRules): Work<Proof> {
  const { block } = parts;
  if (!isJson(block)) return failed("header hash", "this is not a block");
  const { transactions, withdrawals } = block;
  if (!areEntries(transactions, isTransaction))
    return failed("transactions root", "the block has no list of transactions");
  const receipts = parts.receipts;
  if (receipts !== undefined && !areEntries(receipts, isJson))
    return failed("receipts root", "this is not a list of receipts");

  const lists = { block, transactions, receipts };
  const number = numberIn(block["number"]);
  const rules = blockRulesOf(chainId, number);
  const header = checkHeader(block, rules);
  const options = { rules, fit: header.kind === "proven" ? rules.fit : whereNoHeader(rules.fit) };
  const ofTransactions = yield* checkTransactions(transactions, block, options);
  const checked = yield* checkReceipts(lists, ofTransactions, options);
  const ofReceipts =
    checked.kind === "failed" && areRootless(parts, number, rules) ? unproven : checked;
  const partProofs: readonly (readonly [BlockPart, PartProof])[] = [
    ["header hash", header],
    ["transactions root", ofTransactions.partProof],
    ["receipts root", ofReceipts],
    ["logs bloom", yield* checkBloom(lists, ofTransactions, bloomFit(header, ofReceipts, options))],
    [
      "withdrawals root",
      yield* checkWithdrawals({ block, withdrawals }, { rules, fit: options.fit.header }),
    ],
    ["uncles hash", checkUncles(block, parts.uncles, { rules, fit: options.fit.header })],
  ];
  const lied = partProofs.find(([, { kind }]) => kind === "failed");
  if (lied) return failed(lied[0], reasonOf(lied[1]));
  const { lie, oddity } = yield* checkPlaces(lists, {
    fit: options.fit,
    isHeaderProven: header.kind === "proven",
    areReceiptsProven: ofReceipts.kind === "proven",
    ...ofTransactions,
  });
  if (lie !== undefined) return failed("places", lie);
  const unfit = partProofs.filter(([, { kind }]) => kind !== "proven");
  const odd: Oddity[] = unfit
    .filter(([, { kind }]) => kind === "odd")
    .map(([part, partProof]) => ({ part, reason: reasonOf(partProof) }));
  if (oddity !== undefined) odd.push({ part: "places", reason: oddity });
  return { kind: "proven", unproven: unfit.map(([part]) => part), odd };
}

const reasonOf = (partProof: PartProof): string => ("reason" in partProof ? partProof.reason : "");

/** Without the header nothing is known that the other parts could contradict. */
const whereNoHeader = (fit: BlockRules["fit"]): BlockRules["fit"] => ({
  header: softer(fit.header),
  transactions: softer(fit.transactions),
  receipts: softer(fit.receipts),
  derived: softer(fit.derived),
  logIndex: softer(fit.logIndex),
  price: softer(fit.price),
});

/** Blooms are not compared where the chain makes its own headers. Proven blooms and proven logs are the chain's way. */
function bloomFit(
  header: PartProof,
  receipts: PartProof,
  { rules, fit }: { readonly rules: BlockRules; readonly fit: BlockRules["fit"] },
): Fit {
  if (rules.blooms === "free" || header.kind !== "proven") return "may";
  return receipts.kind === "proven" ? softer(fit.receipts) : fit.receipts;
}

/** Whether receipts lack the state roots that they need before Byzantium: Erigon does not keep those roots. */
const areRootless = (
  { receipts = [] }: BlockParts,
  number: number | undefined,
  { byzantium }: BlockRules,
): boolean =>
  number !== undefined && number < byzantium && receipts.some(({ root }) => isAbsent(root));

const failed = (part: BlockPart | "places", reason: string): Proof => ({
  kind: "failed",
  part,
  reason,
});

const isTransaction = (value: unknown): value is Json | string =>
  isJson(value) || typeof value === "string";

const areEntries = <T>(values: unknown, isEntry: (value: unknown) => value is T): values is T[] =>
  Array.isArray(values) && values.every(isEntry);
