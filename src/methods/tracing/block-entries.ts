// A node's own list of a block's traces: each transaction's in OpenEthereum's form, rewards as they came.
import { isAbsent, isJson, type Json } from "../../proofs/json.ts";
import { tracesOfFlat } from "../../traces/flat-traces.ts";
import { placed, placeIn } from "./call-trees.ts";
import type { MinedBlock } from "./mined-block.ts";

/** undefined when it is no such list. */
export function blockEntries(result: unknown): readonly Json[] | undefined {
  if (!Array.isArray(result) || !result.every(isJson)) return undefined;
  const entries: Json[] = [];
  for (let at = 0; at < result.length; ) {
    const own = runOf(result, at);
    at += own.length;
    const hash = own[0]?.["transactionHash"];
    if (isAbsent(hash)) {
      for (const entry of own) entries.push(entry);
      continue;
    }
    const traces = tracesOfFlat(own);
    const place = placeIn(own);
    if (!traces || !place) return undefined;
    // One by one: there may be more than a function takes arguments.
    for (const entry of placed(traces, String(hash).toLowerCase(), place)) entries.push(entry);
  }
  return entries;
}

/** From here on, what is of the same transaction, or of none. */
function runOf(entries: readonly Json[], start: number): readonly Json[] {
  const hash = entries[start]?.["transactionHash"] ?? null;
  let end = start;
  while (end < entries.length && (entries[end]?.["transactionHash"] ?? null) === hash) end += 1;
  return entries.slice(start, end);
}

/** Whether these are the traces of all of the block's transactions and of no other block's. */
export function isOfBlock(
  entries: readonly Json[],
  { position, transactions }: MinedBlock,
): boolean {
  const hashes = new Set(entries.map((entry) => entry["transactionHash"] ?? null));
  hashes.delete(null);
  const isHere = entries.every(
    ({ blockHash }) => isAbsent(blockHash) || String(blockHash).toLowerCase() === position.hash,
  );
  return (
    isHere &&
    hashes.size === transactions.length &&
    transactions.every(({ hash }) => hashes.has(hash))
  );
}
