// How a call to the nodes of a network wants to be made.
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { AttemptStory, BegunAttempt } from "../../observe/story.ts";
import type { BodyReader } from "../connection/connection.ts";
import type { Judging } from "../node-requests.ts";
import type { HurriedAsker } from "../node-turns.ts";
import type { Reply } from "../reply.ts";

export type CallOptions = Pick<Judging, "isFalse" | "onFalse"> & {
  /** The method's traits; left out: they are looked up. */
  readonly traits?: MethodTraits | undefined;
  /** Which replies of one node alone are not believed. */
  readonly crossCheck?: CrossCheckRule | undefined;
  /**
   * Is called with each result and refusal before it is judged, so that those that do not count teach something, too.
   */
  readonly onReply?: ((reply: FinalReply, upstream: string) => void) | undefined;
  /** The number of the block that the call is about: a node that seems not to have it is asked last. */
  readonly block?: number | undefined;
  /** The number that a node's head should have reached, where the call is about no single block. */
  readonly reaches?: number | undefined;
  /** Members of one batch that should be answered by the same node. */
  readonly session?: Session | undefined;
  /** One of several ways to call the method: a node may have the method, but not this way. */
  readonly variant?: Variant | undefined;
  /** Makes a reader for an answer while it comes: one for each node that is asked. */
  readonly reader?: (() => BodyReader) | undefined;
  /**
   * For a call that may go to several nodes at the same time (`broadcast`): see `Arrival`. Left out: it goes to one.
   */
  readonly arrivalOf?: ((refusal: Extract<Reply, { kind: "refused" }>) => Arrival) | undefined;
  /** The asker for whom the call is; left out: the gateway itself. */
  readonly asker?: HurriedAsker | undefined;
  /** Counts what is done for the call. */
  readonly ledger?: AttemptLedger | undefined;
};

/** What is told of the end of a call: one of both, once. */
export type CallEnds = {
  /** @param json The bytes of `result` as a node sent them. */
  answered(json: Buffer): void;
  failed(error: unknown): void;
};

export type CrossCheckRule = {
  /** Two calls with the same question and the same name here are one call. */
  readonly name: string;
  /**
   * Whether this result or refusal of one node alone is not believed, such as null from a node that may lag. Then the
   * next one is asked. When none has a better answer, the first such answer counts after all.
   */
  readonly isUncertain: (reply: Reply) => boolean;
};

export type AttemptLedger = {
  /**
   * Is called when a node is asked, also for retries, hedges and cross-checks.
   * @returns What is to be told how the attempt ends.
   */
  attempted(attempt: BegunAttempt, method: string): AttemptStory | undefined;
  /** Is called when an equal call is in flight, whose answer is shared. */
  merged(): void;
};

type Variant = {
  readonly name: string;
  /** Whether a node says with this reply that it lacks this way. That is remembered like a missing method. */
  readonly isMissing: (reply: FinalReply) => boolean;
};

/** Calls that belong together: each goes first to the node that the first of them chose. */
export type Session = { node: string | undefined };

/**
 * What a refusal says about a transaction that is sent to several nodes: 2: the node has it; 1: it may have been there
 * before, or be elsewhere; 0: nobody has it. Of several refusals the highest is told.
 */
export type Arrival = 0 | 1 | 2;

/** What a node answers with authority: no other one is asked. */
export type FinalReply = Extract<Reply, { kind: "result" | "refused" }>;
