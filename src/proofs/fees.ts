// What a transaction paid for its gas.
import { isAbsent, type Json } from "./json.ts";

/** EIP-1559: the base fee and what is left for the tip. Undefined when a fee is no QUANTITY. */
export function effectiveGasPrice(transaction: Json, block: Json): string | undefined {
  const { maxFeePerGas, maxPriorityFeePerGas, gasPrice, type } = transaction;
  const hasFees = type === "0x2" || type === "0x3" || type === "0x4";
  if (!hasFees) return typeof gasPrice === "string" ? gasPrice : undefined;
  const most = numberOf(maxFeePerGas);
  const tip = numberOf(maxPriorityFeePerGas);
  const base = isAbsent(block["baseFeePerGas"]) ? 0n : numberOf(block["baseFeePerGas"]);
  if (most === undefined || tip === undefined || base === undefined) return undefined;
  return `0x${(base + tip < most ? base + tip : most).toString(16)}`;
}

/** Undefined when it is no QUANTITY. */
export const numberOf = (text: unknown): bigint | undefined =>
  typeof text === "string" && /^0x[0-9a-f]{1,64}$/i.test(text) ? BigInt(text) : undefined;
