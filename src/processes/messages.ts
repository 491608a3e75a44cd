// What the processes of one gateway tell each other, all of it: the supervisor and each of its children,
// and through the supervisor the servers and the writer.

import type { Position } from "../chain/block-record.ts";
import type { LogSegment, StoredTracePosition } from "../chain/block-tables.ts";
import type { NotFetched } from "../chain/chain-view.ts";
import type { Reference, Tag } from "../chain/dialect.ts";
import type { ChainNews } from "../chain/view-source.ts";
import type { Config } from "../config/schema.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";

export type ChildRole =
  | { readonly kind: "writer" }
  /** @param port The one that all servers listen on. */
  | { readonly kind: "server"; readonly number: number; readonly port: number };

/** The first message: with it, no secret is in an argument or in the environment. */
export type Start = {
  readonly config: Config;
  readonly role: ChildRole;
  /** How many processes ask the nodes: what may be asked of them is shared out. */
  readonly processes: number;
  /** What the writer told last. */
  readonly news: readonly News[];
};

export type ToChild =
  | ({ readonly kind: "start" } & Start)
  /** Is answered by a `reply` with the same id. */
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  /** Running calls end, everything is closed, and the process ends. */
  | { readonly kind: "stop" }
  /** To the writer. */
  | ({ readonly kind: "question" } & WriterQuestion)
  /** To a server. */
  | ({ readonly kind: "answer" } & WriterAnswer)
  /** To the servers. */
  | ({ readonly kind: "news" } & News)
  /** To the servers: the writer is gone, and answers nothing of what it was asked. */
  | { readonly kind: "writer away" };

/** A process says so often that it lives, in milliseconds. */
export const HEARTBEAT_MS = 500;

export type FromChild =
  /** Every `HEARTBEAT_MS`, whatever it does. */
  | { readonly kind: "alive" }
  /** An error that nobody expected: it ends in order, and wants to be replaced. */
  | { readonly kind: "unexpected"; readonly what: UnexpectedKind }
  /** It does what it is for: the writer follows the chains, a server listens. */
  | { readonly kind: "ready" }
  /** It cannot begin, for a reason that a person can put right, and ends. */
  | { readonly kind: "failed"; readonly why: string }
  /** It was signalled, alone or with all others: the supervisor says whether it ends. */
  | { readonly kind: "told to end" }
  | { readonly kind: "reply"; readonly id: number; readonly reply: ChildReply }
  | ({ readonly kind: "question" } & WriterQuestion)
  | ({ readonly kind: "answer" } & WriterAnswer)
  | ({ readonly kind: "news" } & News);

/** What the supervisor wants of any child. */
export type Request =
  /** Makes another configuration ready, beside the one that runs. */
  | { readonly what: "prepare"; readonly config: Config }
  /** Takes what was made ready. */
  | { readonly what: "commit"; readonly withinMs: number }
  | { readonly what: "cancel" }
  /** See `Metrics.values`. */
  | { readonly what: "measure" }
  /** See `Networks.status`. */
  | { readonly what: "status" };

export type ChildReply =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly why: string };

/** What the writer tells of one network. */
export type News = { readonly network: string; readonly news: ChainNews };

export type WriterQuestion = {
  /** Which server asks, and which of its questions it is. */
  readonly server: number;
  readonly id: number;
  readonly network: string;
  readonly ask: WriterRequest;
};

export type WriterRequest =
  | { readonly what: "look" | "hurry" }
  | { readonly what: "fetch"; readonly reference: Reference }
  | { readonly what: "tagged"; readonly tag: Tag }
  | {
      readonly what: "keepTrace";
      readonly hash: string;
      readonly place: StoredTracePosition;
      readonly json: Uint8Array;
    }
  | {
      readonly what: "keepSegment";
      readonly place: LogSegment;
      readonly json: Uint8Array;
      readonly upstreams: readonly string[];
    }
  | { readonly what: "distrust"; readonly upstream: string }
  /** Where a new filter for pending transactions begins. */
  | { readonly what: "beginPending" }
  /** Somebody has such a filter still. */
  | { readonly what: "listenToPending" };

export type WriterAnswer = {
  readonly server: number;
  readonly id: number;
  readonly result: Result;
};

export type Result =
  | { readonly kind: "done"; readonly value: Value }
  /** The writer's own error, as callers may know it. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly message: string;
      readonly status: number;
    }
  /** There is no writer now, or it does not serve this network. */
  | { readonly kind: "away" };

export type Value = undefined | number | Position | { readonly hash: string } | NotFetched;
