// Finds the block that a reference means: at once where the store of the followed chain has it, else by asking nodes.
import type { BlockFetch } from "../chain/chain-view.ts";
import type { ReceiptTerms } from "../chain/dialect.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import { type BlockReference, isBeyondAnyChain, pointerOf } from "../evm/block-reference.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import { nullWhenUnknown } from "./forwarding.ts";
import type { Answer, CallContext } from "./method.ts";

type Asking = Pick<CallContext, "ask" | "headView" | "chain">;

/** A reference without tags, which every node understands alike. */
export type FixedPointer =
  | { readonly kind: "hash"; readonly hash: string }
  | { readonly kind: "number"; readonly number: string };

/** The pointer as a parameter for nodes. */
export const pointedText = (pointer: FixedPointer): string =>
  pointer.kind === "hash" ? pointer.hash : pointer.number;

/** The members of a block that methods need, with the hashes of its transactions. */
export type BlockOutline = {
  readonly number: string;
  readonly hash: string;
  readonly transactions: readonly string[];
  readonly uncles?: readonly string[];
  readonly logsBloom?: unknown;
};

/** Whether an index is so large that no block has it. */
export const isBeyondAnyBlock = (index: string): boolean => toNumber(index) > 0xffff_ffff;

/**
 * Resolves a tag, and checks that a hash is canonical where the reference requires it.
 * @returns undefined when there is no such block.
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

/**
 * A number or tag as a QUANTITY. `pending` becomes the head, which is the newest block that has a number.
 * @throws RpcError when there is no such `safe` or `finalized` block.
 */
export async function settleNumber(numberOrTag: string, context: Asking): Promise<string> {
  switch (numberOrTag) {
    case "earliest":
      return "0x0";
    case "latest":
    case "pending":
      return toQuantity(await context.headView().latest());
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

/** A block from the nodes; undefined when they do not know it. */
export async function readBlock(
  pointer: FixedPointer,
  context: Pick<CallContext, "ask">,
): Promise<BlockOutline | undefined> {
  const result = await askBlock(pointer, { fullTransactions: false }, context);
  return JSON.parse(result.toString("utf8")) ?? undefined;
}

/** A node's block as JSON; `null` when the nodes do not know it. */
export const askBlock = (
  pointer: FixedPointer,
  { fullTransactions, ...options }: CallOptions & { readonly fullTransactions: boolean },
  context: Pick<CallContext, "ask">,
): Promise<Buffer> => {
  const method = pointer.kind === "hash" ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const paramsJson = JSON.stringify([pointedText(pointer), fullTransactions]);
  return nullWhenUnknown(context.ask(method, paramsJson, options));
};

/** @returns false when the block is unknown. @throws RpcError when another block is canonical at its number. */
async function isCanonical(hash: string, context: Asking): Promise<boolean> {
  const block = await readBlock({ kind: "hash", hash }, context);
  if (!block) return false;
  const canonical = await readBlock({ kind: "number", number: block.number }, context);
  if (canonical?.hash.toLowerCase() !== hash.toLowerCase()) throw errors.blockNotCanonical();
  return true;
}

type FoundBlock = StoredBlock | "unknown" | "elsewhere";
type Finding = Pick<CallContext, "chain" | "signal" | "setProvenance">;

/** The stored block, maybe without its receipts, that a reference means, where no node has to say which block is canonical, `safe` or `finalized`. */
export function storedAt(
  reference: BlockReference,
  { chain }: Pick<CallContext, "chain">,
): StoredBlock | undefined {
  if (!chain) return undefined;
  const pointer = pointerOf(reference);
  if (pointer.kind === "hash") {
    const block = chain.blockOf(pointer.hash, "if held");
    return block && (!pointer.mustBeCanonical || chain.isOnChain(block)) ? block : undefined;
  }
  if (pointer.numberOrTag === "latest") return chain.blockAt(chain.head.number);
  if (pointer.numberOrTag === "earliest") return chain.blockAt(0, "if held");
  return isQuantity(pointer.numberOrTag)
    ? chain.blockAt(toNumber(pointer.numberOrTag), "if held")
    : undefined;
}

/** The parts of a method's answer about one block. */
type BlockAnswer<Args> = {
  reference(args: Args): string;
  find(reference: string, context: CallContext): Promise<FoundBlock>;
  /** Whether no block can have the part that the arguments name. */
  isNone?(args: Args): boolean;
  read(block: StoredBlock, args: Args, context: CallContext): AnswerJson;
  /** Asks the nodes about a block that the followed chain cannot have. */
  ask(args: Args, context: CallContext): Promise<AnswerJson>;
};

/** Makes the `answer` of a method about one block: at once where it is stored, `null` where there is no such block. */
export const ofBlock =
  <Args>(wanted: BlockAnswer<Args>) =>
  (args: Args, context: CallContext): Answer => {
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
 * The block from the store, or fetched from the nodes and stored. "elsewhere": no chain is followed, or no node gave the
 * whole block; then the method asks the nodes for the part that it needs.
 * @throws RpcError 502 when nodes gave the block, but none so that it can be proven.
 */
export const findBlock = (pointer: FixedPointer, context: Finding): Promise<FoundBlock> =>
  find(pointer, "if held", context) as Promise<FoundBlock>; // the receipts are not needed

/** As `findBlock`, with its receipts; "no receipts" when nodes have the block, and none of them has its receipts. */
export const findWithReceipts = (
  pointer: FixedPointer,
  context: Finding,
): Promise<FoundBlock | "no receipts"> => find(pointer, "needed", context);

async function find(
  pointer: FixedPointer,
  receipts: ReceiptTerms,
  context: Finding,
): Promise<FoundBlock | "no receipts"> {
  const { chain, signal } = context;
  if (!chain) return "elsewhere";
  context.setProvenance({ source: "upstream", proof: "none" }); // for an answer without a block; a found block sets its own
  if (pointer.kind === "hash") {
    const { hash } = pointer;
    return chain.blockOf(hash, receipts) ?? outcomeOf(await chain.fetch({ hash }, receipts));
  }
  const number = toNumber(pointer.number);
  if (number > chain.head.number) {
    return (await chain.reach(number, signal)).blockAt(number) ?? "unknown";
  }
  return chain.blockAt(number, receipts) ?? outcomeOf(await chain.fetch({ number }, receipts));
}

/** As `findBlock`, by number or tag. "elsewhere" also for `pending`, and for a tag without a block on the chain. */
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

function outcomeOf(fetched: BlockFetch): FoundBlock | "no receipts" {
  if (fetched === "unproven" || fetched === "refused") throw errors.unproven();
  return fetched === "unanswered" ? "elsewhere" : fetched;
}
