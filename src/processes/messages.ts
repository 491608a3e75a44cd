// What the processes of one gateway tell each other, all of it: the supervisor and each of its children,
// and through the supervisor the servers and the writer.

import type { NodeDrain } from "../admin/admin-parts.ts";
import type { Config } from "../config/schema.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";
import type { TriedCall } from "../server/try-call.ts";
import type { News, WriterMessage, WriterQuestion } from "./writer-link.ts";

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
  /** The nodes that an operator spares. */
  readonly drained: readonly NodeDrain[];
};

export type ToChild =
  | ({ readonly kind: "start" } & Start)
  /** Is answered by a `reply` with the same id. */
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  /** Running calls end, everything is closed, and the process ends. */
  | { readonly kind: "stop" }
  /** To the writer. */
  | ({ readonly kind: "question" } & WriterQuestion)
  /** To a server, or to all. */
  | WriterMessage;

export type FromChild =
  /** Every `HEARTBEAT_MS` of `lib/waiting.ts`, whatever it does. */
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
  | WriterMessage;

/** What the supervisor wants of any child. */
export type Request =
  /** Makes another configuration ready, beside the one that runs. */
  | { readonly what: "prepare"; readonly config: Config }
  /** Takes what was made ready. */
  | { readonly what: "commit"; readonly withinMs: number }
  | { readonly what: "cancel" }
  /** See `Metrics.values`. */
  | { readonly what: "measure" }
  /** Of a server: see `ServerSide.tailedCalls`. */
  | { readonly what: "calls" }
  /** Of a server: see `CallTrials`. */
  | { readonly what: "try"; readonly asked: TriedCall }
  | { readonly what: "describe"; readonly asked: Pick<TriedCall, "network" | "key"> }
  /** See `Incidents`. */
  | { readonly what: "incidents" }
  /** See `Networks.drain`. */
  | { readonly what: "drain"; readonly node: NodeDrain }
  /** See `Networks.status`. */
  | { readonly what: "status" };

export type ChildReply =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly why: string };
