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
 * The first message to a child. It carries the configuration, so that no secret is in an argument or in the
 * environment.
 */
export type Start = {
  readonly config: Config;
  readonly role: ChildRole;
  /** How many processes ask the nodes: they share what may be sent to them. */
  readonly processes: number;
  /** The writer's last news. */
  readonly news: readonly News[];
  /** What the supervisor has changed in the state and cannot write. */
  readonly held: HeldTexts;
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
  /** An unexpected error: the child ends in order, and wants to be replaced. */
  | { readonly kind: "unexpected"; readonly what: UnexpectedKind }
  /** The child works: the writer follows the chains, a server listens. */
  | { readonly kind: "ready" }
  /** The child cannot begin, for a reason that a person can put right, and ends. */
  | { readonly kind: "failed"; readonly why: string }
  /** The child was signalled, alone or with all others: the supervisor says whether it ends. */
  | { readonly kind: "told to end" }
  | { readonly kind: "reply"; readonly id: number; readonly reply: ChildReply }
  | ({ readonly kind: "question" } & WriterQuestion)
  | WriterMessage;

/** What the supervisor can ask of a child. */
export type Request =
  /** Prepares another configuration, beside the one that runs. */
  | { readonly what: "prepare"; readonly config: Config }
  /** Applies the prepared configuration. */
  | { readonly what: "commit"; readonly withinMs: number }
  | { readonly what: "cancel" }
  /** See `Metrics.values`. */
  | { readonly what: "measure" }
  /** For a server: see `ServerSide.tailedCalls`. */
  | { readonly what: "calls" }
  /** For a server: see `CallTrials`. */
  | { readonly what: "try"; readonly asked: TriedCall }
  | { readonly what: "describe"; readonly asked: Pick<TriedCall, "network" | "key"> }
  /** See `Incidents`. */
  | { readonly what: "incidents" }
  /** The supervisor has changed something in the state; some of it cannot be written. */
  | { readonly what: "look at state"; readonly held: HeldTexts }
  /** See `Networks.status`. */
  | { readonly what: "status" };

export type ChildReply =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly why: string };
