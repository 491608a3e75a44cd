// Finds blocks in the followed chain: at once when they are stored, else with the nodes' help.
import type { Sought } from "../chain/chain-view.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import { type BlockReference, pointerOf } from "../evm/block-reference.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { type FixedPointer, isBeyondAnyChain } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";

type Asking = Pick<CallContext, "chain" | "signal" | "setProvenance">;

/** The block that a reference means, if it is known at once: stored, and no question of canonicity or tags. */
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

/**
 * The block, from the store or from the nodes into it. "elsewhere": there is no followed chain, or
 * the block could not be had as a whole, and the nodes are asked for what is wanted of it.
 *
 * @throws RpcError when a node gives the block, but none so that it can be proven.
 */
export async function findBlock(
  pointer: FixedPointer,
  context: Asking,
): Promise<StoredBlock | "unknown" | "elsewhere"> {
  const { chain, signal } = context;
  if (!chain) return "elsewhere";
  context.setProvenance({ source: "upstream", proof: "none" }); // of a "no"; a block that is found sets its own
  if (pointer.kind === "hash") {
    return chain.blockOf(pointer.hash) ?? outcomeOf(await chain.fetch({ hash: pointer.hash }));
  }
  const number = toNumber(pointer.number);
  if (number > chain.head.number) {
    return (await chain.reach(number, signal)).blockAt(number) ?? "unknown";
  }
  return chain.blockAt(number) ?? outcomeOf(await chain.fetch({ number }));
}

/** As `findBlock`, by number or tag. "elsewhere" also for `pending`, and for a tag that no block has. */
export async function findNumbered(
  numberOrTag: string,
  context: Asking,
): Promise<StoredBlock | "unknown" | "elsewhere"> {
  const { chain } = context;
  if (isBeyondAnyChain(numberOrTag)) return "unknown";
  switch (numberOrTag) {
    case "pending":
      return "elsewhere";
    case "latest":
      return chain?.blockAt(chain.head.number) ?? "elsewhere";
    case "earliest":
      return findBlock({ kind: "number", number: "0x0" }, context);
    case "safe":
    case "finalized": {
      const position = await chain?.tagged(numberOrTag);
      if (!position) return "elsewhere";
      return findBlock({ kind: "number", number: toQuantity(position.number) }, context);
    }
    default:
      return findBlock({ kind: "number", number: numberOrTag }, context);
  }
}

function outcomeOf(sought: Sought): StoredBlock | "unknown" | "elsewhere" {
  if (sought === "unproven") throw errors.unproven();
  return sought === "unanswered" ? "elsewhere" : sought;
}

/** Tells the context that the answer comes from the store. */
export function fromStore<Json extends AnswerJson>(
  json: Json,
  block: StoredBlock,
  context: Pick<CallContext, "setProvenance">,
): Json {
  context.setProvenance({ source: "store", block, proof: block.proof });
  return json;
}
