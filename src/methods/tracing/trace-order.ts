// Two lists of a chain's traces made one: each trace once, in the order of the chain.
import { isQuantity } from "../../evm/values.ts";
import { isJson } from "../../proofs/json.ts";

/** @param one What is in both of them is the same in both. */
export function together(one: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  const byText = new Map([...one, ...other].map((trace) => [JSON.stringify(trace), trace]));
  return [...byText.values()]
    .map((trace) => ({ trace, place: placeOf(trace) }))
    .sort((left, right) => compare(left.place, right.place))
    .map(({ trace }) => trace);
}

/** Block, transaction, path: a reward is of no transaction, and behind all of them. */
function placeOf(trace: unknown): readonly number[] {
  const { blockNumber, transactionPosition, traceAddress } = isJson(trace) ? trace : {};
  const path = Array.isArray(traceAddress) ? traceAddress.map(Number) : [];
  return [numberOf(blockNumber), numberOf(transactionPosition), ...path];
}

const numberOf = (value: unknown): number =>
  typeof value === "number" || isQuantity(value) ? Number(value) : Number.MAX_SAFE_INTEGER;

/** A parent stands before its children. */
function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((step, index) => step !== right[index]);
  if (at < 0) return left.length - right.length;
  return (left[at] ?? 0) - (right[at] ?? -1);
}
