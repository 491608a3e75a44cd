// The leaves of a block's JSON, and mutations of them.
import type { BlockParts } from "../../src/proofs/prove-block.ts";

export type Path = readonly (string | number)[];

/** The paths of all strings, booleans and nulls, such as `block.transactions.0.hash`. */
export function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) =>
    leavesOf(member, [...path, Array.isArray(value) ? Number(name) : name]),
  );
}

/** A copy with another value at the path; undefined removes the member. */
export function withLeaf(
  parts: BlockParts,
  path: Path,
  change: (leaf: unknown) => unknown,
): BlockParts {
  const copy = structuredClone(parts);
  let owner = copy as unknown as Record<string | number, unknown>;
  for (const name of path.slice(0, -1)) owner = owner[name] as Record<string | number, unknown>;
  const last = path.at(-1) ?? "";
  const changed = change(owner[last]);
  if (changed === undefined && typeof last === "string") delete owner[last];
  else owner[last] = changed;
  return copy;
}

/** Another value of the same form. */
export function another(leaf: unknown): unknown {
  if (typeof leaf === "boolean") return !leaf;
  if (typeof leaf !== "string") return `0x${"11".repeat(20)}`;
  if (leaf === "0x") return "0x01";
  return leaf.slice(0, -1) + (Number.parseInt(leaf.slice(-1), 16) ^ 1).toString(16);
}

/** The path with `*` for every index. */
export const patternOf = (path: Path): string =>
  path.map((name) => (typeof name === "number" ? "*" : name)).join(".");

/** Members that no hash covers and nothing contradicts: a client must derive them, or ask several nodes. */
export const UNCOVERED: ReadonlySet<string> = new Set([
  "block.size",
  "block.totalDifficulty",
  "block.transactions.*.gasPrice", // covered for types 0x0 and 0x1; in later types it repeats effectiveGasPrice
  "receipts.*.blobGasPrice",
  "receipts.*.blobGasUsed",
  "uncles.*.size",
  "uncles.*.totalDifficulty",
]);

/** Members that nodes may leave out or write as null. */
export const OPTIONAL: ReadonlySet<string> = new Set([
  "block.transactions.*.blockTimestamp",
  "block.transactions.*.chainId", // of legacy transactions, which sign it in `v`
  "block.transactions.*.to", // null or left out
  "block.transactions.*.type", // of legacy transactions
  "block.transactions.*.v", // of transactions with yParity
  "block.transactions.*.yParity",
  "receipts.*.blockTimestamp",
  "receipts.*.contractAddress",
  "receipts.*.effectiveGasPrice",
  "receipts.*.from",
  "receipts.*.gasUsed",
  "receipts.*.to",
  "receipts.*.type",
  "receipts.*.logs.*.blockTimestamp",
  "receipts.*.logs.*.removed",
]);
