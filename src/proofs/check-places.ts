// Checks data that no hash covers, but that must agree: the positions that transactions, receipts and logs state, and
// members that nodes derive from the block.

import type { BlockRules, Fit } from "../evm/chains/block-rules.ts";
import { keccakBytes } from "../evm/keccak.ts";
import { toQuantity } from "../evm/values.ts";
import type { Work } from "../lib/turns.ts";
import type { BlockLists, CheckedTransactions, Transaction } from "./check-lists.ts";
import { isSigned } from "./encode.ts";
import { isAbsent, isJson, type Json, sameHex, shown } from "./json.ts";
import { digitByCode, RlpWriter, WRONG } from "./rlp-writer.ts";

type PlaceOptions = Pick<CheckedTransactions, "foreign" | "leftOut"> & {
  readonly fit: BlockRules["fit"];
  /** If the header is proven, an item of another block is a lie on any chain. */
  readonly isHeaderProven: boolean;
  /** Only if the receipts are proven can gas and created contracts be derived from them. */
  readonly areReceiptsProven: boolean;
};

/** A lie, else the first oddity; neither when all places are right. */
type Found = { readonly lie?: string | undefined; readonly oddity?: string | undefined };

export function* checkPlaces(lists: BlockLists, options: PlaceOptions): Work<Found> {
  const findings = new Findings();
  yield* checkTransactionPlaces(lists, options, findings);
  const { receipts } = lists;
  if (findings.lie === undefined && receipts)
    yield* checkReceiptPlaces({ ...lists, receipts }, options, findings);
  return findings;
}

class Findings {
  lie: string | undefined;
  oddity: string | undefined;

  /** Notes what was found, if anything. `where` is only read then. */
  add(found: string | undefined, fit: Fit, where: string, index: number): void {
    if (found === undefined || fit === "may") return;
    if (fit === "must") this.lie ??= `${where} ${index}: ${found}`;
    else this.oddity ??= `${where} ${index}: ${found}`;
  }
}

/** Items checked between two pauses. */
const STEP = 64;

function* checkTransactionPlaces(
  { block, transactions }: BlockLists,
  { fit, isHeaderProven, foreign, leftOut }: PlaceOptions,
  findings: Findings,
): Work<void> {
  const ofBlock: Fit = isHeaderProven ? "must" : "should";
  for (const [index, transaction] of transactions.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (typeof transaction === "string") continue;
    findings.add(elsewhere(transaction, block), ofBlock, "transaction", index);
    if (fit.derived === "may" || leftOut.has(index)) continue;
    const found =
      wrong(transaction, "transactionIndex", toQuantity(index)) ??
      wrongTime(transaction, block) ??
      (foreign.has(index) ? undefined : contradiction(transaction));
    findings.add(found, fit.derived, "transaction", index);
    if (findings.lie !== undefined) return;
  }
}

/** Whether an item states another block than the one in which it is. */
const elsewhere = (item: Json, block: Json): string | undefined =>
  wrong(item, "blockHash", block["hash"]) ?? wrong(item, "blockNumber", block["number"]);

/** Checks the block time in an item; anvil writes it into receipts as a plain number. */
function wrongTime(entry: Json, block: Json): string | undefined {
  const time = entry["blockTimestamp"];
  return typeof time === "number"
    ? wrong({ blockTimestamp: toQuantity(time) }, "blockTimestamp", block["timestamp"])
    : wrongIfPresent(entry, "blockTimestamp", block["timestamp"]);
}

/** Checks the members that repeat signed data. */
function contradiction(transaction: Json): string | undefined {
  if (!isSigned(transaction)) return undefined;
  const { v, yParity, chainId, type } = transaction;
  const isLegacy = isAbsent(type) || type === "0x0";
  if (!isLegacy) return isAbsent(yParity) ? undefined : wrongIfPresent(transaction, "v", yParity);
  // EIP-155: v is 35 + 2 × chain id + parity.
  const protection = numberOf(v) ?? 0n;
  if (protection < 35n || isAbsent(chainId)) return undefined;
  return wrong(transaction, "chainId", toQuantity((protection - 35n) >> 1n));
}

function* checkReceiptPlaces(
  { block, transactions, receipts }: BlockLists & { receipts: readonly Json[] },
  options: PlaceOptions,
  findings: Findings,
): Work<void> {
  const { fit, isHeaderProven, areReceiptsProven, foreign, leftOut } = options;
  if (receipts.length !== transactions.length) {
    const found = `in a block of ${transactions.length} transactions`;
    findings.add(found, fit.derived, "receipts:", receipts.length);
    return;
  }
  const ofBlock: Fit = isHeaderProven ? "must" : "should";
  // Nobody knows which indexes the logs of other transactions have where some are left out.
  const ofLogIndex = leftOut.size > 0 ? "may" : fit.logIndex;
  let logIndex = 0;
  let gasBefore = 0;
  for (const [index, receipt] of receipts.entries()) {
    if (index % STEP === STEP - 1) yield;
    const position = { block, index, transaction: transactions[index] ?? "" };
    const { logs } = receipt;
    findings.add(ofOther(receipt, position), ofBlock, "receipt", index);
    yield* checkLogPlaces(logs, position, { ofBlock, ofLogIndex, logIndex, options }, findings);
    if (Array.isArray(logs)) logIndex += logs.length;
    if (leftOut.has(index)) continue;
    if (fit.derived !== "may")
      findings.add(wronglyRepeated(receipt, position), fit.derived, "receipt", index);
    if (areReceiptsProven) {
      findings.add(wrongGas(receipt, gasBefore), fit.derived, "receipt", index);
      if (!foreign.has(index)) checkOutcome(receipt, position, { fit, findings });
    }
    if (findings.lie !== undefined) return;
    gasBefore = gasOf(receipt["cumulativeGasUsed"]);
  }
}

type ReceiptPosition = {
  readonly block: Json;
  readonly index: number;
  readonly transaction: Transaction;
};

const hashOf = (transaction: Transaction): unknown =>
  typeof transaction === "string" ? transaction : transaction["hash"];

/** Whether a receipt or a log states another transaction or block than its own. */
const ofOther = (item: Json, { block, transaction }: ReceiptPosition): string | undefined =>
  wrong(item, "transactionHash", hashOf(transaction)) ?? elsewhere(item, block);

/** Checks the members of a receipt that repeat its place, and those of its transaction. */
function wronglyRepeated(
  receipt: Json,
  { block, index, transaction }: ReceiptPosition,
): string | undefined {
  const found = wrong(receipt, "transactionIndex", toQuantity(index)) ?? wrongTime(receipt, block);
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

function* checkLogPlaces(
  logs: unknown,
  position: ReceiptPosition,
  {
    ofBlock,
    ofLogIndex,
    logIndex: first,
    options: { fit, leftOut },
  }: { ofBlock: Fit; ofLogIndex: Fit; logIndex: number; options: PlaceOptions },
  findings: Findings,
): Work<void> {
  const isDerived = fit.derived !== "may" && !leftOut.has(position.index);
  if (!Array.isArray(logs)) {
    findings.add("no list of logs", ofBlock, "receipt", position.index);
    return;
  }
  for (const [index, log] of logs.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (!isJson(log)) {
      findings.add(`is ${shown(log)}`, ofBlock, "log", index);
      continue;
    }
    findings.add(ofOther(log, position), ofBlock, "log", first + index);
    if (ofLogIndex !== "may")
      findings.add(
        wrong(log, "logIndex", toQuantity(first + index)),
        ofLogIndex,
        "log",
        first + index,
      );
    if (isDerived) findings.add(wrongInLog(log, position), fit.derived, "log", first + index);
  }
}

const wrongInLog = (log: Json, { block, index }: ReceiptPosition): string | undefined =>
  wrong(log, "transactionIndex", toQuantity(index)) ??
  wrongTime(log, block) ??
  (log["removed"] !== undefined && log["removed"] !== false ? "it is removed" : undefined);

function wrongGas({ gasUsed, cumulativeGasUsed }: Json, gasBefore: number): string | undefined {
  return gasUsed !== undefined && gasOf(gasUsed) !== gasOf(cumulativeGasUsed) - gasBefore
    ? `gasUsed is ${shown(gasUsed)}, but cumulativeGasUsed ${shown(cumulativeGasUsed)} after ${gasBefore}`
    : undefined;
}

/** Checks the created contract and the price of a transaction as Ethereum has it. */
function checkOutcome(
  receipt: Json,
  { transaction, block, index }: ReceiptPosition,
  { fit, findings }: { fit: BlockRules["fit"]; findings: Findings },
): void {
  if (typeof transaction === "string") return;
  const { contractAddress } = receipt;
  if (!isAbsent(contractAddress) && fit.derived !== "may") {
    const created = isAbsent(transaction["to"]) ? createdAddress(transaction) : "nothing";
    if (!sameHex(contractAddress, created)) {
      const found = `contractAddress is ${shown(contractAddress)}, created was ${created}`;
      findings.add(found, fit.derived, "receipt", index);
    }
  }
  if (isAbsent(receipt["effectiveGasPrice"]) || fit.price === "may") return;
  const found = wrong(receipt, "effectiveGasPrice", effectiveGasPrice(transaction, block));
  findings.add(found, fit.price, "receipt", index);
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
