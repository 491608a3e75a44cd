// Proves a block, as a node wrote it, against its own hash: a proven answer is the block with that hash. Pure; never
// throws, no matter how malformed the block is.

import { keccakBytes } from "../evm/keccak.ts";
import { toQuantity } from "../evm/values.ts";
import type { Work } from "../lib/turns.ts";
import { checkHeader, checkUncles, checkWithdrawals, type HeaderEncoding } from "./check-header.ts";
import {
  type BlockLists,
  checkBloom,
  checkReceipts,
  checkTransactions,
  isForeignTransaction,
  type Transaction,
} from "./check-lists.ts";
import { isAbsent, isJson, type Json, type PartProof, sameHex, shown, unproven } from "./json.ts";
import { digitByCode, RlpWriter, WRONG } from "./rlp-writer.ts";

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
  /** `known`: a header that does not have its hash is a lie. Otherwise such a header may be unproven. */
  readonly headers: HeaderEncoding;
  /** The block from which receipts have a status instead of a state root (EIP-658), if known. */
  readonly byzantium?: number | undefined;
};

/** Proves a block in steps, since a block may be huge. Returns the first failed part, or the unproven parts. */
export function* proveInSteps(parts: BlockParts, options: NetworkRules): Work<Proof> {
  const { block } = parts;
  if (!isJson(block)) return failed("header hash", "this is not a block");
  const { transactions, withdrawals } = block;
  if (!areEntries(transactions, isTransaction))
    return failed("transactions root", "the block has no list of transactions");
  const receipts = parts.receipts;
  if (receipts !== undefined && !areEntries(receipts, isJson))
    return failed("receipts root", "this is not a list of receipts");

  const header = checkHeader(block, options.headers);
  const isForeignHeader = header.kind === "unproven";
  const ofTransactions = yield* checkTransactions(transactions, block, isForeignHeader);
  // Receipts of bridges' and rollups' transactions, and withdrawals beside them, have rules of their own.
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
    odd: [],
  };
}

/** Whether receipts lack the state roots that they need before Byzantium: Erigon does not keep those roots. */
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

// Data that no hash covers, but that must agree: the positions that transactions, receipts and logs state, and members
// that nodes derive from the block.

type PositionOptions = {
  readonly isForeignHeader: boolean;
  /** Only if the receipts are proven do gas and created contracts follow Ethereum's rules. */
  readonly areReceiptsProven: boolean;
};

/** Why an item states a wrong position or derived member; undefined when all are right. */
function* misplaced(lists: BlockLists, options: PositionOptions): Work<string | undefined> {
  const { block, transactions, receipts } = lists;
  for (const [index, transaction] of transactions.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (typeof transaction === "string") continue;
    const found =
      misplacedTransaction(transaction, index, block) ?? contradiction(transaction, options);
    if (found) return `transaction ${index}: ${found}`;
  }
  return receipts && (yield* misplacedReceipts({ ...lists, receipts }, options));
}

/** Items checked between two pauses. */
const STEP = 64;

const misplacedTransaction = (transaction: Json, index: number, block: Json): string | undefined =>
  wrong(transaction, "blockHash", block["hash"]) ??
  wrong(transaction, "blockNumber", block["number"]) ??
  wrong(transaction, "transactionIndex", toQuantity(index)) ??
  wrongTime(transaction, block);

/** Checks the block time in an item; anvil writes it into receipts as a plain number. */
function wrongTime(entry: Json, block: Json): string | undefined {
  const time = entry["blockTimestamp"];
  return typeof time === "number"
    ? wrong({ blockTimestamp: toQuantity(time) }, "blockTimestamp", block["timestamp"])
    : wrongIfPresent(entry, "blockTimestamp", block["timestamp"]);
}

/** Checks the members that repeat signed data. */
function contradiction(
  transaction: Json,
  { isForeignHeader }: PositionOptions,
): string | undefined {
  if (isForeignHeader || isForeignTransaction(transaction)) return undefined;
  const { v, yParity, chainId, type } = transaction;
  const isLegacy = isAbsent(type) || type === "0x0";
  if (!isLegacy) return isAbsent(yParity) ? undefined : wrongIfPresent(transaction, "v", yParity);
  // EIP-155: v is 35 + 2 × chain id + parity.
  const protection = numberOf(v) ?? 0n;
  if (protection < 35n || isAbsent(chainId)) return undefined;
  return wrong(transaction, "chainId", toQuantity((protection - 35n) >> 1n));
}

function* misplacedReceipts(
  { block, transactions, receipts }: BlockLists & { receipts: readonly Json[] },
  options: PositionOptions,
): Work<string | undefined> {
  if (receipts.length !== transactions.length)
    return `${receipts.length} receipts of ${transactions.length} transactions`;
  let logIndex = 0;
  let gasBefore = 0;
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const position = { block, index, transaction: transactions[index] ?? "" };
    const found =
      misplacedReceipt(receipt, position) ??
      (options.areReceiptsProven ? wronglyDerived(receipt, position, gasBefore) : undefined) ??
      (yield* misplacedLogs(receipt["logs"], position, logIndex));
    if (found) return `receipt ${index}: ${found}`;
    logIndex += Array.isArray(receipt["logs"]) ? receipt["logs"].length : 0;
    gasBefore = gasOf(receipt["cumulativeGasUsed"]);
  }
  // EIP-7778, which comes with block access lists, lets a block count gas that its receipts do not count.
  const countsAlike = !options.isForeignHeader && isAbsent(block["blockAccessListHash"]);
  return countsAlike && gasOf(block["gasUsed"]) !== gasBefore
    ? `gasUsed of the block is ${shown(block["gasUsed"])}, of its receipts ${gasBefore}`
    : undefined;
}

type ReceiptPosition = {
  readonly block: Json;
  readonly index: number;
  readonly transaction: Transaction;
};

const hashOf = (transaction: Transaction): unknown =>
  typeof transaction === "string" ? transaction : transaction["hash"];

function misplacedReceipt(receipt: Json, position: ReceiptPosition): string | undefined {
  const { block, transaction } = position;
  const found = misplacedInBlock(receipt, position) ?? wrongTime(receipt, block);
  if (found || typeof transaction === "string") return found;
  const { from, to, type } = transaction;
  if (
    isAbsent(to)
      ? !isAbsent(receipt["to"])
      : receipt["to"] !== undefined && !sameHex(receipt["to"], to)
  )
    return `to is ${shown(receipt["to"])}, want ${shown(to)}`;
  return (
    wrongIfPresent(receipt, "from", from) ??
    (isAbsent(type) ? undefined : wrongIfPresent(receipt, "type", type))
  );
}

/** Checks the positions that receipts and logs both state. */
const misplacedInBlock = (
  item: Json,
  { block, index, transaction }: ReceiptPosition,
): string | undefined =>
  wrong(item, "transactionHash", hashOf(transaction)) ??
  wrong(item, "transactionIndex", toQuantity(index)) ??
  wrong(item, "blockHash", block["hash"]) ??
  wrong(item, "blockNumber", block["number"]);

function* misplacedLogs(
  logs: unknown,
  position: ReceiptPosition,
  firstLogIndex: number,
): Work<string | undefined> {
  if (!Array.isArray(logs)) return "no list of logs";
  for (const [index, log] of logs.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (!isJson(log)) return `log ${index} is ${shown(log)}`;
    const found =
      wrong(log, "logIndex", toQuantity(firstLogIndex + index)) ??
      misplacedInBlock(log, position) ??
      wrongTime(log, position.block);
    if (found) return `log ${index}: ${found}`;
    if (log["removed"] !== undefined && log["removed"] !== false) return `log ${index} is removed`;
  }
  return undefined;
}

function wronglyDerived(
  receipt: Json,
  position: ReceiptPosition,
  gasBefore: number,
): string | undefined {
  const { gasUsed, cumulativeGasUsed, contractAddress } = receipt;
  if (gasUsed !== undefined && gasOf(gasUsed) !== gasOf(cumulativeGasUsed) - gasBefore)
    return `gasUsed is ${shown(gasUsed)}, but cumulativeGasUsed ${shown(cumulativeGasUsed)} after ${gasBefore}`;
  const { transaction, block } = position;
  if (typeof transaction === "string") return undefined;
  if (!isAbsent(contractAddress)) {
    const created = isAbsent(transaction["to"]) ? createdAddress(transaction) : "nothing";
    if (!sameHex(contractAddress, created))
      return `contractAddress is ${shown(contractAddress)}, created was ${created}`;
  }
  if (isAbsent(receipt["effectiveGasPrice"])) return undefined;
  return wrong(receipt, "effectiveGasPrice", effectiveGasPrice(transaction, block));
}

/** The last 20 bytes of the hash of the sender and its nonce (Yellow Paper, section 7). */
function createdAddress({ from, nonce }: Json): string {
  const writer = new RlpWriter();
  writer.list(() => {
    writer.data(from, 20);
    writer.quantity(nonce);
  });
  const bytes = writer.since(0);
  return bytes ? `0x${Buffer.from(keccakBytes(bytes).subarray(12)).toString("hex")}` : "nothing";
}

/** A gas amount. Exact up to 2^53, more than any block can use; NaN if the value is not a QUANTITY. */
function gasOf(text: unknown): number {
  if (typeof text !== "string" || text.length > LONGEST_GAS) return Number(numberOf(text));
  if (text.length < 3 || !text.startsWith("0x")) return Number.NaN;
  let gas = 0;
  for (let at = 2; at < text.length; at += 1) {
    const digit = digitByCode[text.charCodeAt(at)] ?? WRONG;
    if (digit === WRONG) return Number.NaN;
    gas = gas * 16 + digit;
  }
  return gas;
}

/** Characters. A number holds this many hex digits exactly, and is faster to compute with than a bigint. */
const LONGEST_GAS = 14;

function wrong(item: Json, name: string, want: unknown): string | undefined {
  const value = item[name];
  return sameHex(value, want) ? undefined : `${name} is ${shown(value)}, want ${shown(want)}`;
}

/** As `wrong`, for a member that some nodes leave out. */
const wrongIfPresent = (item: Json, name: string, want: unknown): string | undefined =>
  isAbsent(item[name]) ? undefined : wrong(item, name, want);

// The price that a transaction paid for its gas, in wei.

/** EIP-1559: the base fee plus the tip, at most the maximum fee. Undefined when a fee is not a QUANTITY. */
function effectiveGasPrice(transaction: Json, block: Json): string | undefined {
  const { maxFeePerGas, maxPriorityFeePerGas, gasPrice, type } = transaction;
  const hasFees = type === "0x2" || type === "0x3" || type === "0x4";
  if (!hasFees) return typeof gasPrice === "string" ? gasPrice : undefined;
  const most = numberOf(maxFeePerGas);
  const tip = numberOf(maxPriorityFeePerGas);
  const base = isAbsent(block["baseFeePerGas"]) ? 0n : numberOf(block["baseFeePerGas"]);
  if (most === undefined || tip === undefined || base === undefined) return undefined;
  return `0x${(base + tip < most ? base + tip : most).toString(16)}`;
}

/** @returns undefined when the text is not a QUANTITY. */
const numberOf = (text: unknown): bigint | undefined =>
  typeof text === "string" && /^0x[0-9a-f]{1,64}$/i.test(text) ? BigInt(text) : undefined;
