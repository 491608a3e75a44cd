// What the process that keeps a chain does for those that only read its store.

import type { Reference, Tag } from "./dialect.ts";
import type { HeadNews } from "./freshness.ts";
import type { UpstreamLogs } from "./kept-segments.ts";
import type { Position, SegmentPlace, StoredTracePosition } from "./store-keys.ts";

/** Why a block that was looked for at the nodes is not there. */
export type NotFetched =
  /** No node that answered has it in a chain that can be followed. */
  | "unknown"
  /** Somebody gave it, but so that it could not be proven. */
  | "unproven"
  /** The nodes could not be asked. */
  | "unanswered";

/** Each of them rejects when the writer is away, or takes too long. */
export type ChainWriter = {
  /** Looks at all nodes and goes where the head is; resolves when that is done. */
  look(): Promise<void>;
  /** The same, soon, and nobody waits for it. */
  hurry(): void;
  /** @returns The hash under which the block is in the store now. */
  fetch(reference: Reference): Promise<{ readonly hash: string } | NotFetched>;
  tagged(tag: Tag): Promise<Position | undefined>;
  keepTrace(hash: string, place: StoredTracePosition, json: Buffer): Promise<void>;
  keepSegment(place: SegmentPlace, told: UpstreamLogs): Promise<void>;
  /** What this one alone told of old logs is not kept any longer: it was caught telling what is not so. */
  distrust(upstream: string): void;
};

/** What readers cannot see in the store. */
export type ChainNews = {
  readonly isLive: boolean;
  /** Why the chain is not followed now: its store cannot be written. */
  readonly whyStopped?: string | undefined;
  /** The name of the node whose chain is followed. */
  /** Which file the store is: another one took its place where this changes. */
  readonly store?: string;
  readonly leader: string | undefined;
  readonly standings: readonly Standing[];
  /** undefined before the head was confirmed. */
  readonly head?: HeadNews | undefined;
};

/** Where a node was seen last. */
type Standing = {
  readonly node: string;
  readonly head: { readonly number: number; readonly hash: string | undefined };
  readonly isElsewhere: boolean;
};
