// How the nodes of a family are asked for what a chain is made of: blocks of EVM networks, epochs of Conflux networks.

import type { NetworkSettings } from "../config/schema.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Turns } from "../lib/turns.ts";
import type { Json } from "../proofs/json.ts";
import type { Reply } from "../upstream/reply.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { BlockJson, ParsedBlock } from "./block-record.ts";
import type { Position } from "./stored-block.ts";

export type AskedNode = Pick<Upstream, "name" | "ask" | "isMissing">;
export type Reference = { readonly hash: string } | { readonly number: number };

export type Ask = (method: string, params: readonly unknown[]) => Promise<Reply>;

/**
 * How a node is asked while a chain is followed.
 * @param maxBytes The largest answer that is taken; left out: as for any call.
 */
export const askingOf =
  (node: AskedNode, signal: Signal, maxBytes?: number): Ask =>
  (method, params) =>
    node.ask(method, JSON.stringify(params), signal, { purpose: "follow", maxBytes });

/** The largest block number: the store writes block numbers in four bytes. */
export const LARGEST_NUMBER = 0xffff_ffff;

/** A block as JSON, and parsed. */
export type FetchedBlock = {
  readonly json: BlockJson;
  readonly block: GivenBlock;
  readonly receipts: readonly Json[];
  readonly uncles: readonly Json[] | undefined;
  readonly places?: ParsedBlock["places"];
};

export type GivenBlock = Json & {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
};

export type Fetched =
  | { readonly kind: "fetched"; readonly fetched: FetchedBlock }
  /** The node does not know the block. */
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly reason: string }
  /** The block is larger than `limits.block` allows: its answer was not read to the end. */
  | { readonly kind: "too large"; readonly reason: string }
  /** The answer is not a block, or these are not its receipts. */
  | { readonly kind: "garbage"; readonly reason: string };

/** The limits of one block. */
export type BlockLimits = NetworkSettings["limits"]["block"];

export type FetchTerms = {
  readonly limits: BlockLimits;
  readonly turns: Pick<Turns, "do">;
  readonly signal: Signal;
};

/** The words by which nodes name blocks; each family has its own. */
export type Tag = "latest" | "safe" | "finalized" | `latest_${string}`;

/** None of these functions rejects. */
export type ChainDialect = {
  readonly kind: "blocks" | "epochs";
  /** Methods that a node may do without. */
  readonly optional: readonly string[];
  fetchBlock(reference: Reference, node: AskedNode, terms: FetchTerms): Promise<Fetched>;
  /** The number and hash of the block that a node has at a number, or by a tag; undefined when it does not tell. */
  readPosition(
    numberOrTag: number | Tag,
    node: AskedNode,
    signal: Signal,
  ): Promise<Position | undefined>;
  /** Whether the node knows the block with this hash; undefined when it does not tell. */
  knowsBlock(hash: string, node: AskedNode, signal: Signal): Promise<boolean | undefined>;
};
