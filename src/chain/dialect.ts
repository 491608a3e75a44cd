// How the nodes of a family are asked for what a chain is made of: blocks here, epochs there.
import type { Position } from "./block-store.ts";
import type { AskedNode, Fetched, Reference } from "./fetch-block.ts";

/** What a node calls by name; which names there are is the family's. */
export type Tag = "latest" | "safe" | "finalized" | `latest_${string}`;

/** Nothing of it rejects. */
export type ChainDialect = {
  fetchBlock(reference: Reference, node: AskedNode, signal: AbortSignal): Promise<Fetched>;
  /** The number and hash of the block that a node has at a number, or calls so; undefined when it does not tell. */
  readPosition(
    numberOrTag: number | Tag,
    node: AskedNode,
    signal: AbortSignal,
  ): Promise<Position | undefined>;
  /** Whether the node knows the block with this hash; undefined when it does not tell. */
  knowsBlock(hash: string, node: AskedNode, signal: AbortSignal): Promise<boolean | undefined>;
};
