// The options of a call to the upstreams of a network.
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { AttemptStory, BegunAttempt } from "../../observe/story.ts";
import type { LogsReach } from "../capabilities/capabilities.ts";
import type { BodyReader } from "../connection/connection.ts";
import type { ResultCheckOptions } from "../node-requests.ts";
import type { AskerWithDeadline } from "../node-turns.ts";
import type { RefusedReply, Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";

export type CallOptions = Pick<ResultCheckOptions, "isFalse" | "onFalse"> & {
  /** The method's traits; left out: the pool looks them up. */
  readonly traits?: MethodTraits | undefined;
  /** The rule for replies that the gateway does not believe of one upstream alone. */
  readonly crossCheck?: CrossCheckRule | undefined;
  /**
   * Is called with each result and refusal before the cross-check, so also with replies that do not count; for a log
   * query with what is known of the upstream's logs at the call's block.
   */
  readonly onReply?: ((reply: FinalReply, upstream: string, reach?: LogsReach) => void) | undefined;
  /** The number of the block that the call is about: the gateway asks an upstream that seems to lack it last. */
  readonly block?: number | undefined;
  /** The block number that an upstream's head should have reached, where the call is about no single block. */
  readonly reaches?: number | undefined;
  /** The call is about the pending block or state, which the next answer must not show at an earlier position. */
  readonly isPending?: boolean | undefined;
  /** The batch whose members the same upstream should answer. */
  readonly session?: Session | undefined;
  /** One of several variants of the method: an upstream may support the method, but not this variant. */
  readonly variant?: Variant | undefined;
  /** Makes a reader for an answer while it arrives: one for each attempt. */
  readonly reader?: (() => BodyReader) | undefined;
  /** Reads the refusal of a transaction that may go to several upstreams (`broadcast`); left out: it goes to one. */
  readonly arrivalOf?: ((refusal: Extract<Reply, { kind: "refused" }>) => Arrival) | undefined;
  /** The key and the caller that the call is for; left out: the gateway itself. */
  readonly asker?: AskerWithDeadline | undefined;
  /** Counts the attempts of the call. */
  readonly ledger?: AttemptLedger | undefined;
};

/** The callbacks for the end of a call: the pool calls one of both, once. */
export type CallEnds = {
  /** @param json The bytes of `result` as the upstream sent them. */
  answered(json: Buffer): void;
  failed(error: unknown): void;
};

export type CrossCheckRule = {
  /** Equal calls at the same time share one answer only when the name of their rule is the same. */
  readonly name: string;
  /**
   * Whether the gateway does not believe this reply of one upstream alone, such as null from one that may lag. Then it
   * asks the next upstream. When none has a better answer, the first uncertain answer counts after all.
   */
  readonly isUncertain: (reply: Reply) => boolean;
};

export type AttemptLedger = {
  /** The number of further calls to nodes that the call may make; left out: it has no limit. */
  readonly left?: number;
  /**
   * Is called for each attempt, also for retries, hedges and cross-checks.
   * @returns The record that learns how the attempt ends.
   */
  attempted(attempt: BegunAttempt, method: string): AttemptStory | undefined;
  /** Is called when the call shares the answer of an equal call in flight. */
  merged(): void;
};

type Variant = {
  readonly name: string;
  /** Whether an upstream says with this reply that it lacks the variant. The gateway remembers that as a missing method. */
  readonly isMissing: (reply: FinalReply) => boolean;
};

/** Calls that belong together: each goes first to the upstream that the first of them chose. */
export type Session = { node: string | undefined };

/**
 * The meaning of a refusal of a transaction that goes to several upstreams: 2: the node has the transaction; 1: this or
 * another node may have it; 0: it is refused. Of several refusals the caller gets the one with the highest number.
 */
export type Arrival = 0 | 1 | 2;

/** A reply that can settle a call: a result or a refusal. */
export type FinalReply = Extract<Reply, { kind: "result" | "refused" }>;

/**
 * The meaning of a refusal in unknown words: another upstream answered the call, so that this one is unable to; or
 * another one said the same, so that the words are an answer.
 */
export type Lesson = {
  readonly kind: "unable" | "answer";
  readonly upstream: Upstream;
  readonly refusal: RefusedReply;
};
