// How a chain is read from the nodes of a family: blocks of EVM networks, epochs of Conflux networks.

import type { NetworkSettings } from "../config/schema.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Turns } from "../lib/turns.ts";
import type { Json } from "../proofs/json.ts";
import type { Reply } from "../upstream/reply.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { BlockJson, ParsedBlock } from "./block-record.ts";
import type { Position } from "./stored-block.ts";

export type AskedUpstream = Pick<Upstream, "name" | "ask" | "isMissing">;
/** An upstream that can also be asked which chain it is of. */
export type IdentifiedUpstream = AskedUpstream & Pick<Upstream, "confirmIdentity">;
export type Reference = { readonly hash: string } | { readonly number: number };

export type Ask = (method: string, params: readonly unknown[]) => Promise<Reply>;

/**
 * A function that makes calls to a node on behalf of the follower.
 * @param maxBytes The largest reply that is accepted, in bytes; left out: as for any call.
 */
export const askingOf =
  (node: AskedUpstream, signal: Signal, maxBytes?: number): Ask =>
  (method, params) =>
    node.ask(method, JSON.stringify(params), signal, { purpose: "follow", maxBytes });

/** The largest block number: the store writes block numbers in four bytes. */
export const LARGEST_NUMBER = 0xffff_ffff;

/** A block as a node's JSON, and parsed. */
export type FetchedBlock = {
  readonly json: BlockJson;
  readonly block: GivenBlock;
  /** undefined where the node does not hold them, and the block was asked for all the same. */
  readonly receipts: readonly Json[] | undefined;
  readonly uncles: readonly Json[] | undefined;
  readonly spans?: ParsedBlock["spans"];
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
  /** The node has the block, and not all of its receipts. */
  | { readonly kind: "no receipts" }
  | { readonly kind: "failed"; readonly reason: string }
  /** The block is larger than `limits.block` allows. */
  | { readonly kind: "too large"; readonly reason: string }
  /** The reply is not a block, or the receipts are not those of the block. */
  | { readonly kind: "garbage"; readonly reason: string };

export type Failure = Exclude<Fetched, { kind: "fetched" }>;

/** The failure of a fetch after a reply that is no result. @param maxBytes The limit of the reply, in bytes. */
export function failureOf(reply: Reply, maxBytes: number): Failure {
  if (reply.kind === "failed" && reply.isTooLarge) return tooLarge(`more than ${maxBytes} bytes`);
  const reason =
    reply.kind === "failed" ? reply.reason : reply.kind === "refused" ? reply.message : reply.kind;
  return { kind: "failed", reason };
}

export const tooLarge = (reason: string): Failure => ({ kind: "too large", reason });

/** The limits of one block. */
export type BlockLimits = NetworkSettings["limits"]["block"];

/**
 * Whether a block without its receipts is of use: nodes may keep blocks longer than receipts (`reth --full` has only the
 * receipts of its last 10,064 blocks). A followed block always has its receipts.
 */
export type ReceiptTerms = "needed" | "if held";

export type FetchTerms = {
  readonly limits: BlockLimits;
  readonly receipts: ReceiptTerms;
  readonly turns: Pick<Turns, "do">;
  readonly signal: Signal;
};

/** A name that nodes give to a block, such as `latest`; each family has its own names. */
export type Tag = "latest" | "safe" | "finalized" | `latest_${string}`;

/** The position of a block as a node told it, with the block's time, in seconds since 1970, where the node told that. */
export type HeadPosition = Position & { readonly timestamp?: number | undefined };

/** None of these functions rejects. */
export type ChainDialect = {
  readonly kind: "blocks" | "epochs";
  /** Methods that a node may lack. */
  readonly optional: readonly string[];
  fetchBlock(reference: Reference, node: AskedUpstream, terms: FetchTerms): Promise<Fetched>;
  /** The number and hash of the block that a node has at a number, or by a tag; undefined when the node does not tell. */
  readPosition(
    numberOrTag: number | Tag,
    node: AskedUpstream,
    signal: Signal,
  ): Promise<HeadPosition | undefined>;
  /** Whether the node knows the block with this hash; undefined when the node does not tell. */
  knowsBlock(hash: string, node: AskedUpstream, signal: Signal): Promise<boolean | undefined>;
};
