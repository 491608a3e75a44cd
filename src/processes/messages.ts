// All messages between the processes of one gateway: between the supervisor and each of its children, and through the
// supervisor between the servers and the writer.

import type { Config } from "../config/schema.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";
import type { TriedCall } from "../server/try-call.ts";
import type { HeldTexts } from "../state/held-state.ts";
import type { News, WriterMessage, WriterQuestion } from "./writer-link.ts";

export type ChildRole =
  | { readonly kind: "writer" }
  /** @param port The port on which all servers listen. */
  | { readonly kind: "server"; readonly number: number; readonly port: number };

/**
 * The first message to a child. The message carries the configuration, so that no secret is in an argument or in the
 * environment.
 */
export type Start = {
  readonly config: Config;
  readonly role: ChildRole;
  /** The number of processes that ask the nodes: the processes share the budget of each node. */
  readonly processes: number;
  /** The writer's last news. */
  readonly news: readonly News[];
  /** The changes of the state that the supervisor holds and cannot write. */
  readonly held: HeldTexts;
};

export type ToChild =
  | ({ readonly kind: "start" } & Start)
  /** The child answers with a `reply` of the same id. */
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  /** The child lets running calls end, closes everything, and ends. */
  | { readonly kind: "stop" }
  /** A server's question to the writer. */
  | ({ readonly kind: "question" } & WriterQuestion)
  /** A message to a server, or to all servers. */
  | WriterMessage;

export type FromChild =
  /** A heartbeat, every `HEARTBEAT_MS` of `lib/waiting.ts`. */
  | { readonly kind: "alive" }
  /** An unexpected error: the child ends in order, and the supervisor starts another child. */
  | { readonly kind: "unexpected"; readonly what: UnexpectedKind }
  /** The child works: the writer follows the chains, a server listens. */
  | { readonly kind: "ready" }
  /** The child cannot begin, for a reason that an operator can put right, and ends. */
  | { readonly kind: "failed"; readonly why: string }
  /** The child was signalled, alone or with all others: the supervisor says whether it ends. */
  | { readonly kind: "told to end" }
  | { readonly kind: "reply"; readonly id: number; readonly reply: ChildReply }
  | ({ readonly kind: "question" } & WriterQuestion)
  | WriterMessage;

/** A request of the supervisor to a child. */
export type Request =
  /** Prepares another configuration, beside the one that runs. */
  | { readonly what: "prepare"; readonly config: Config }
  /** Applies the prepared configuration. */
  | { readonly what: "commit"; readonly withinMs: number }
  | { readonly what: "cancel" }
  /** See `Metrics.values`. */
  | { readonly what: "measure" }
  /** For a server: see `ServerSide.slowCalls`. */
  | { readonly what: "calls" }
  /** For a server: see `CallTrials`. */
  | { readonly what: "try"; readonly asked: TriedCall }
  | { readonly what: "describe"; readonly asked: Pick<TriedCall, "network" | "key"> }
  /** See `Incidents`. */
  | { readonly what: "incidents" }
  /** The supervisor has changed the state; `held` has the changes that it cannot write. */
  | { readonly what: "look at state"; readonly held: HeldTexts }
  /** See `Networks.status`. */
  | { readonly what: "status" };

export type ChildReply =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly why: string };
