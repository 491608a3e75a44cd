// How a call to the nodes of a network wants to be made.
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { AttemptStory, BegunAttempt } from "../../observe/story.ts";
import type { BodyReader } from "../connection/connection.ts";
import type { Judging } from "../node-requests.ts";
import type { HurriedAsker } from "../node-turns.ts";
import type { Reply } from "../reply.ts";

export type CallOptions = Pick<Judging, "isFalse" | "onFalse"> & {
  /** Of the method; left out: they are looked for. */
  readonly traits?: MethodTraits | undefined;
  /** In what one node alone is not believed. */
  readonly crossCheck?: CrossCheckRule | undefined;
  /** Told of each result and refusal before it is judged: to learn from those that do not count, too. */
  readonly onReply?: ((reply: FinalReply, upstream: string) => void) | undefined;
  /** The number of the block that the call speaks of: who seems not to have it is asked last. */
  readonly block?: number | undefined;
  /** The number that a node's head should have reached, where no single block is spoken of. */
  readonly reaches?: number | undefined;
  /** The members of one batch that want to be answered by one node. */
  readonly session?: Session | undefined;
  /** The one of several ways to call the method: a node may have the method, and not this way. */
  readonly variant?: Variant | undefined;
  /** Makes what reads the answer while it comes: one for each node that is asked. */
  readonly reader?: (() => BodyReader) | undefined;
  /** Of what may be sent to several nodes at once (`broadcast`): see `Arrival`. Left out: it is sent to one. */
  readonly arrivalOf?: ((refusal: Refused) => Arrival) | undefined;
  /** On whose behalf; left out: the gateway's own. */
  readonly asker?: HurriedAsker | undefined;
  /** Counts what is done for the call. */
  readonly ledger?: AttemptLedger | undefined;
};

export type CrossCheckRule = {
  /** Two calls that ask the same and cross-check the same replies are one question. */
  readonly name: string;
  /**
   * Of a result or a refusal: whether one node alone is not believed in it, such as null from one that
   * may lag. Then the next is asked; when nobody says better, the first such answer counts after all.
   */
  readonly isUncertain: (reply: Reply) => boolean;
};

export type AttemptLedger = {
  /** A node is asked: retries, hedges and cross-checks count, too. @returns What wants to know what becomes of it. */
  attempted(attempt: BegunAttempt, method: string): AttemptStory | undefined;
  /** An equal call is in flight already, and its answer is shared. */
  merged(): void;
};

type Variant = {
  readonly name: string;
  /** Whether a node says with this that it does not have it. Remembered like a missing method. */
  readonly isMissing: (reply: FinalReply) => boolean;
};

/** Calls that belong together: all ask the node that the first of them chose, first. */
export type Session = { node: string | undefined };

/**
 * What a refusal says of a transaction that is sent to several nodes: 2: the node has it; 1: it may have
 * been there before, or elsewhere; 0: nobody has it. Of several refusals the highest is told.
 */
export type Arrival = 0 | 1 | 2;

type Refused = Extract<Reply, { kind: "refused" }>;

/** What a node answers for itself: another one is not asked. */
export type FinalReply = Extract<Reply, { kind: "result" | "refused" }>;
