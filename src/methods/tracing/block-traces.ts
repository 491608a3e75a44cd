// The traces of whole blocks: a node's own answer, or joined from the traces of the block's transactions.
import { type BlockReference, pointerOf } from "../../evm/block-reference.ts";
import { toQuantity } from "../../evm/values.ts";
import { type AnswerJson, JsonPacker, PackedJson } from "../../jsonrpc/raw-json.ts";
import { mapConcurrently } from "../../lib/waiting.ts";
import { isAbsent, isJson, type Json } from "../../proofs/json.ts";
import { tracesOfFlat } from "../../traces/call-tree.ts";
import type { CallContext } from "../method.ts";
import { type CallTree, placed, positionIn, treeSources, treesTogether } from "./call-trees.ts";
import { withExecutedGas, withExecutedGasOfAll } from "./executed-gas.ts";
import type { TraceType } from "./kept-parts.ts";
import { findMinedBlock, type MinedBlock } from "./mined.ts";
import { derivedParts, partsIn, partsOfMined, replayJson } from "./replays.ts";
import { askSource, firstOf, type Source } from "./sources.ts";

/** How many transactions of a block are traced at the same time. */
const AT_ONCE = 4;

/** The answer of trace_block; undefined when the block is unknown. */
export async function blockTraces(
  reference: BlockReference,
  context: CallContext,
): Promise<readonly unknown[] | undefined> {
  if (!context.chain) {
    const own = await askSource(ownTraces, { reference: plain(reference) }, context);
    // Some nodes answer an empty list for an empty block and for an unknown one.
    if (own.kind === "result" && own.value.length > 0) return own.value;
    if (own.kind === "refused") throw own.error;
  }
  const block = await findMinedBlock(reference, context);
  return block && tracesOfBlock(block, context);
}

export async function tracesOfBlock(
  block: MinedBlock,
  context: CallContext,
): Promise<readonly unknown[]> {
  const own = await askSource(ownTraces, asked(block), context);
  context.setProvenance({ source: "upstream", block: block.position, proof: "none" });
  if (own.kind === "result") return own.value;
  const trees = await treesOf(block, { isGasWanted: true }, context);
  return block.transactions.flatMap((transaction, index) =>
    placed(trees[index]?.traces ?? [], transaction.hash, transaction),
  );
}

type AskedBlock = { readonly reference: unknown; readonly block?: MinedBlock };

const plain = (reference: BlockReference): unknown => {
  const pointer = pointerOf(reference);
  return pointer.kind === "hash" ? pointer.hash : pointer.numberOrTag;
};
const asked = (block: MinedBlock): AskedBlock => ({
  reference: toQuantity(block.position.number),
  block,
});

const ownTraces: Source<AskedBlock, readonly unknown[]> = {
  name: "trace_block",
  params: ({ reference }) => [reference],
  read: (result, { block }) => {
    const entries = blockEntries(result);
    return entries && (!block || isOfBlock(entries, block)) ? entries : undefined;
  },
};

type Wishes = {
  /** Whether to ask nodes for the gas that the top calls used; the steps of a vmTrace tell it, too. */
  readonly isGasWanted: boolean;
};

async function treesOf(
  block: MinedBlock,
  { isGasWanted }: Wishes,
  context: CallContext,
): Promise<readonly CallTree[]> {
  if (block.transactions.length === 0) return [];
  const together = await askSource(treesTogether, block, context);
  if (together.kind === "result")
    return isGasWanted ? withExecutedGasOfAll(together.value, block, context) : together.value;
  return mapConcurrently(block.transactions, AT_ONCE, async (transaction) => {
    const tree = await firstOf<typeof transaction, CallTree>(treeSources, transaction, context);
    return isGasWanted ? withExecutedGas(tree, transaction, context) : tree;
  });
}

/** The answer of trace_replayBlockTransactions; undefined when the block is unknown. */
export async function blockReplays(
  reference: BlockReference,
  types: readonly TraceType[],
  context: CallContext,
): Promise<AnswerJson | undefined> {
  if (!context.chain) {
    const own = await askSource(ownReplays(types), { reference: plain(reference) }, context);
    if (own.kind === "result" && own.value.length > 0) return joined(own.value);
    if (own.kind === "refused") throw own.error;
  }
  const block = await findMinedBlock(reference, context);
  if (!block) return undefined;
  const own = await askSource(ownReplays(types), asked(block), context);
  context.setProvenance({ source: "upstream", block: block.position, proof: "none" });
  if (own.kind === "result") return joined(own.value);
  const isGasWanted = !types.includes("vmTrace");
  const trees = types.includes("trace") ? await treesOf(block, { isGasWanted }, context) : [];
  const others = types.filter((type) => type !== "trace");
  const replays = await mapConcurrently(block.transactions, AT_ONCE, async (transaction) => {
    const knownTree = trees[transaction.index];
    const makers = partsOfMined(transaction, others, context);
    const parts = await derivedParts(others, makers, knownTree);
    return replayJson({ ...parts, more: named(transaction.hash) });
  });
  return joined(replays);
}

const named = (hash: unknown): string => `,"transactionHash":${JSON.stringify(hash)}`;

const ownReplays = (types: readonly TraceType[]): Source<AskedBlock, readonly AnswerJson[]> => ({
  name: "trace_replayBlockTransactions",
  params: ({ reference }) => [reference, types],
  read: (result, { block }) => {
    if (!Array.isArray(result)) return undefined;
    const hashes = block?.transactions.map(({ hash }) => hash);
    const replays = result.map((replay, index) => {
      const hash = String(Object(replay).transactionHash).toLowerCase();
      const parts = hashes && hashes[index] !== hash ? undefined : partsIn(replay, types);
      return parts && replayJson(parts);
    });
    const isWhole = !hashes || hashes.length === replays.length;
    return isWhole && replays.every((replay) => replay !== undefined) ? replays : undefined;
  },
});

function joined(values: readonly AnswerJson[]): AnswerJson {
  const packer = new JsonPacker();
  packer.write("[");
  for (const [index, value] of values.entries()) {
    if (index > 0) packer.write(",");
    if (value instanceof PackedJson) packer.append(value);
    else packer.write(String(value));
  }
  packer.write("]");
  return packer.finish();
}

/**
 * Reads a node's own list of a block's traces: those of transactions in OpenEthereum's form, rewards unchanged.
 * Undefined when the result is no such list.
 */
function blockEntries(result: unknown): readonly Json[] | undefined {
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
    const position = positionIn(own);
    if (!traces || !position) return undefined;
    // One by one, since there may be more entries than a function takes arguments.
    for (const entry of placed(traces, String(hash).toLowerCase(), position)) entries.push(entry);
  }
  return entries;
}

/** The entries from `start` on that belong to the same transaction, or to none. */
function runOf(entries: readonly Json[], start: number): readonly Json[] {
  const hash = entries[start]?.["transactionHash"] ?? null;
  let end = start;
  while (end < entries.length && (entries[end]?.["transactionHash"] ?? null) === hash) end += 1;
  return entries.slice(start, end);
}

/** Whether the entries are of this block alone, and of all its transactions. */
function isOfBlock(entries: readonly Json[], { position, transactions }: MinedBlock): boolean {
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
