// Which block a reference means, and the block itself: at once where the followed chain has it stored, else with the
// nodes' help.
import type { Sought } from "../chain/chain-view.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import { type BlockReference, isBeyondAnyChain, pointerOf } from "../evm/block-reference.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { CallContext, Outcome } from "./method.ts";
import { nullWhenUnknown } from "./passing-on.ts";

type Asking = Pick<CallContext, "ask" | "consultHead" | "chain">;

/** A reference without tags: every node reads it alike. */
export type FixedPointer =
  | { readonly kind: "hash"; readonly hash: string }
  | { readonly kind: "number"; readonly number: string };

/** In the form that nodes take. */
export const pointedText = (pointer: FixedPointer): string =>
  pointer.kind === "hash" ? pointer.hash : pointer.number;

/** What is needed of a block, without the contents of its transactions. */
export type BlockOutline = {
  readonly number: string;
  readonly hash: string;
  readonly transactions: readonly string[];
  readonly uncles?: readonly string[];
};

/** Whether an index is so large that no block has it. */
export const isBeyondAnyBlock = (index: string): boolean => toNumber(index) > 0xffff_ffff;

/**
 * @returns undefined when it is already known that there is no such block.
 * @throws RpcError when an EIP-1898 reference requires a canonical block and the block is not.
 */
export async function settle(
  reference: BlockReference,
  context: Asking,
): Promise<FixedPointer | undefined> {
  const pointer = pointerOf(reference);
  if (pointer.kind === "number") {
    if (isBeyondAnyChain(pointer.numberOrTag)) return undefined;
    return { kind: "number", number: await settleNumber(pointer.numberOrTag, context) };
  }
  if (pointer.mustBeCanonical && !(await isCanonical(pointer.hash, context))) return undefined;
  return { kind: "hash", hash: pointer.hash };
}

/** A number or tag as a QUANTITY. `pending` becomes the head, which is the newest block that has a number. */
export async function settleNumber(numberOrTag: string, context: Asking): Promise<string> {
  switch (numberOrTag) {
    case "earliest":
      return "0x0";
    case "latest":
    case "pending":
      return toQuantity(await context.consultHead().latest());
    case "safe":
    case "finalized": {
      const position = await context.chain?.tagged(numberOrTag);
      if (position) return toQuantity(position.number);
      const block = await readBlock({ kind: "number", number: numberOrTag }, context);
      const isBeyond = block && context.chain && toNumber(block.number) > context.chain.head.number;
      if (!block || isBeyond) throw errors.taggedBlockNotFound(numberOrTag);
      return block.number;
    }
    default:
      return numberOrTag;
  }
}

/** undefined when the block is unknown. */
export async function readBlock(
  pointer: FixedPointer,
  context: Pick<CallContext, "ask">,
): Promise<BlockOutline | undefined> {
  const result = await askBlock(pointer, { fullTransactions: false }, context);
  return JSON.parse(result.toString("utf8")) ?? undefined;
}

/** A node's block; `null` when it is unknown. */
export const askBlock = (
  pointer: FixedPointer,
  { fullTransactions, ...options }: CallOptions & { readonly fullTransactions: boolean },
  context: Pick<CallContext, "ask">,
): Promise<Buffer> => {
  const method = pointer.kind === "hash" ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const paramsJson = JSON.stringify([pointedText(pointer), fullTransactions]);
  return nullWhenUnknown(context.ask(method, paramsJson, options));
};

/** @returns false when the block is unknown. */
async function isCanonical(hash: string, context: Asking): Promise<boolean> {
  const block = await readBlock({ kind: "hash", hash }, context);
  if (!block) return false;
  const canonical = await readBlock({ kind: "number", number: block.number }, context);
  if (canonical?.hash.toLowerCase() !== hash.toLowerCase()) throw errors.blockNotCanonical();
  return true;
}

type FoundBlock = StoredBlock | "unknown" | "elsewhere";
type Finding = Pick<CallContext, "chain" | "signal" | "setProvenance">;

/**
 * The block that a reference means, if that is known at once: it is stored, and neither its canonicity nor a tag is in
 * question.
 */
export function storedAt(
  reference: BlockReference,
  { chain }: Pick<CallContext, "chain">,
): StoredBlock | undefined {
  if (!chain) return undefined;
  const pointer = pointerOf(reference);
  if (pointer.kind === "hash") {
    const block = chain.blockOf(pointer.hash);
    return block && (!pointer.mustBeCanonical || chain.isOnChain(block)) ? block : undefined;
  }
  if (pointer.numberOrTag === "latest") return chain.blockAt(chain.head.number);
  if (pointer.numberOrTag === "earliest") return chain.blockAt(0);
  return isQuantity(pointer.numberOrTag) ? chain.blockAt(toNumber(pointer.numberOrTag)) : undefined;
}

/** What one method tells of a block. */
type BlockAnswer<Args> = {
  reference(args: Args): string;
  find(reference: string, context: CallContext): Promise<FoundBlock>;
  /** Whether no block can have it. */
  isNone?(args: Args): boolean;
  read(block: StoredBlock, args: Args, context: CallContext): AnswerJson;
  /** Asks the nodes, for a block that the followed chain cannot have. */
  ask(args: Args, context: CallContext): Promise<AnswerJson>;
};

/** The answer of a method about one block: at once where the block is stored, `null` where there is none. */
export const ofBlock =
  <Args>(wanted: BlockAnswer<Args>) =>
  (args: Args, context: CallContext): Outcome => {
    const stored = storedAt(wanted.reference(args), context);
    return stored ? wanted.read(stored, args, context) : ofFoundBlock(wanted, args, context);
  };

async function ofFoundBlock<Args>(
  wanted: BlockAnswer<Args>,
  args: Args,
  context: CallContext,
): Promise<AnswerJson> {
  if (wanted.isNone?.(args)) return "null";
  const found = await wanted.find(wanted.reference(args), context);
  if (found === "unknown") return "null";
  return found === "elsewhere" ? wanted.ask(args, context) : wanted.read(found, args, context);
}

/**
 * The block from the store, or fetched from the nodes and stored. "elsewhere": no chain is followed, or the block could
 * not be had as a whole; then the nodes are asked for the wanted part of it.
 * @throws RpcError when a node gives the block, but none so that it can be proven.
 */
export async function findBlock(pointer: FixedPointer, context: Finding): Promise<FoundBlock> {
  const { chain, signal } = context;
  if (!chain) return "elsewhere";
  context.setProvenance({ source: "upstream", proof: "none" }); // for an answer without a block; a block that is found sets its own
  if (pointer.kind === "hash") {
    return chain.blockOf(pointer.hash) ?? outcomeOf(await chain.fetch({ hash: pointer.hash }));
  }
  const number = toNumber(pointer.number);
  if (number > chain.head.number) {
    return (await chain.reach(number, signal)).blockAt(number) ?? "unknown";
  }
  return chain.blockAt(number) ?? outcomeOf(await chain.fetch({ number }));
}

/** As `findBlock`. "elsewhere" also for `pending`, and for a tag that means no block. */
async function findNumbered(numberOrTag: string, context: Finding): Promise<FoundBlock> {
  const { chain } = context;
  if (isBeyondAnyChain(numberOrTag)) return "unknown";
  if (numberOrTag === "pending") return "elsewhere";
  if (numberOrTag === "latest") return chain?.blockAt(chain.head.number) ?? "elsewhere";
  let number = numberOrTag === "earliest" ? "0x0" : numberOrTag;
  if (numberOrTag === "safe" || numberOrTag === "finalized") {
    const position = await chain?.tagged(numberOrTag);
    if (!position) return "elsewhere";
    number = toQuantity(position.number);
  }
  return findBlock({ kind: "number", number }, context);
}

/** For methods that name the block by number or tag. */
export const byNumber = {
  reference: ({ block }: { readonly block: string }): string => block,
  find: findNumbered,
};

/** For methods that name the block by its hash. */
export const byHash = {
  reference: ({ blockHash }: { readonly blockHash: string }): string => blockHash,
  find: (hash: string, context: Finding): Promise<FoundBlock> =>
    findBlock({ kind: "hash", hash }, context),
};

function outcomeOf(sought: Sought): FoundBlock {
  if (sought === "unproven") throw errors.unproven();
  return sought === "unanswered" ? "elsewhere" : sought;
}
