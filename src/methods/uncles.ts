// The methods for uncles: headers that a block names beside its parent. Where no upstream has these methods, the block
// itself tells how many uncles it has, or that it has none.

import type { StoredBlock } from "../chain/stored-block.ts";
import { type BlockReference, blockReference } from "../evm/block-reference.ts";
import { uncle } from "../evm/results.ts";
import { quantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements, findMembers } from "../jsonrpc/members.ts";
import { isNull, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors, isMethodMissing } from "../jsonrpc/rpc-error.ts";
import {
  type FixedPointer,
  findBlock,
  isBeyondAnyBlock,
  pointedText,
  readBlock,
  settle,
  storedAt,
} from "./block-lookup.ts";
import { nullWhenUnknown } from "./forwarding.ts";
import { type CallContext, defineMethod, fromStore, type Method } from "./method.ts";

const uncleMethod = (name: string): Method =>
  defineMethod({
    name,
    workKind: "blocks",
    isSpecified: true,
    summary: "The header of the block's uncle at this index; null when there is none.",
    cost: 3,
    params: { block: blockReference, index: quantity },
    result: uncle.nullable(),
    freshness: "until next block",
    answer: ({ block, index }, context) => {
      const stored = storedAt(block, context);
      const json = stored && storedUncle(stored, index);
      return stored && json
        ? fromStore(json, stored, context)
        : uncleAt(name, { block, index }, context);
    },
  });

const countMethod = (name: string, traits?: Pick<Method, "isNullNoBlock">): Method =>
  defineMethod({
    name,
    workKind: "blocks",
    isSpecified: true,
    ...traits,
    summary: "The number of uncles of the block; null when there is no such block.",
    cost: 3,
    params: { block: blockReference },
    result: quantity.nullable(),
    freshness: "until next block",
    answer: ({ block }, context) => {
      const stored = storedAt(block, context);
      return stored ? countJson(stored, context) : uncleCount(block, context);
    },
  });

/** Each method takes hashes, numbers and tags, whatever its name says (docs/decisions/0035). */
export const uncleMethods = [
  uncleMethod("eth_getUncleByBlockHashAndIndex"),
  uncleMethod("eth_getUncleByBlockNumberAndIndex"),
  countMethod("eth_getUncleCountByBlockHash"),
  countMethod("eth_getUncleCountByBlockNumber", { isNullNoBlock: true }),
];

/** The uncle's header, or null when the block has no such uncle; undefined when the header is not stored with it. */
function storedUncle(block: StoredBlock, index: string): RawJson | undefined {
  if (toNumber(index) >= block.outline.uncles) return "null";
  const uncles = block.uncles();
  const span = uncles && findElements(uncles)?.[toNumber(index)];
  return span && asHeader(uncles.subarray(span.start, span.end));
}

const countJson = (block: StoredBlock, context: CallContext): RawJson =>
  fromStore(`"${toQuantity(block.outline.uncles)}"`, block, context);

async function uncleAt(
  name: string,
  { block, index }: { block: BlockReference; index: string },
  context: CallContext,
): Promise<RawJson> {
  const pointer = isBeyondAnyBlock(index) ? undefined : await settle(block, context);
  if (!pointer) return "null";
  const found = await findBlock(pointer, context);
  if (found === "unknown") return "null";
  const json = found === "elsewhere" ? undefined : storedUncle(found, index);
  if (json && found !== "elsewhere") return fromStore(json, found, context);
  const by = pointer.kind === "hash" ? "Hash" : "Number";
  const paramsJson = JSON.stringify([pointedText(pointer), index]);
  const asked = context.ask(`eth_getUncleByBlock${by}AndIndex`, paramsJson);
  return asHeader(
    await nullWhenUnknown(asked).catch(async (thrown: unknown) => {
      const uncles = await unclesOfBlock(thrown, pointer, context);
      // The block names only the hash of its uncle.
      if (uncles?.[toNumber(index)]) throw errors.methodNotFound(name);
      return Buffer.from("null");
    }),
  );
}

async function uncleCount(reference: BlockReference, context: CallContext): Promise<RawJson> {
  const pointer = await settle(reference, context);
  if (!pointer) return "null";
  const found = await findBlock(pointer, context);
  if (found === "unknown") return "null";
  if (found !== "elsewhere") return countJson(found, context);
  const by = pointer.kind === "hash" ? "Hash" : "Number";
  const asked = context.ask(
    `eth_getUncleCountByBlock${by}`,
    JSON.stringify([pointedText(pointer)]),
  );
  return nullWhenUnknown(asked).catch(async (thrown: unknown): Promise<RawJson> => {
    const uncles = await unclesOfBlock(thrown, pointer, context);
    return uncles ? `"${toQuantity(uncles.length)}"` : "null";
  });
}

/** The uncles that the block names, when no upstream has the method. @throws Any other error, unchanged. */
async function unclesOfBlock(
  thrown: unknown,
  pointer: FixedPointer,
  context: CallContext,
): Promise<readonly string[] | undefined> {
  if (!isMethodMissing(thrown)) throw thrown;
  const block = await readBlock(pointer, context);
  return block && (block.uncles ?? []);
}

/** Removes the empty list of transactions that some nodes add to the header (docs/decisions/0035). */
function asHeader(result: Buffer): RawJson {
  if (isNull(result)) return result;
  const [transactions] = findMembers(result, ["transactions"]) ?? [];
  if (!transactions) return result;
  const { transactions: _, ...header } = JSON.parse(result.toString("utf8"));
  return JSON.stringify(header);
}
