// How a call to the nodes of a network wants to be made.
import type { BodyReader } from "../connection/connection.ts";
import type { Reply } from "../reply.ts";

export type CallOptions = {
  /**
   * Of a result or a refusal: whether one node alone is not believed in it, such as null from one that
   * may lag. Then the next is asked; when nobody says better, the first such answer counts after all.
   */
  readonly isDoubtful?: ((reply: Reply) => boolean) | undefined;
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
  /** Called when an equal call is in flight already, and its answer is shared. */
  readonly onMerged?: (() => void) | undefined;
};

type Variant = {
  readonly name: string;
  /** Whether a node says with this that it does not have it. Remembered like a missing method. */
  readonly isMissing: (reply: Said) => boolean;
};

/** Calls that belong together: all ask the node that the first of them chose, first. */
export type Session = { node: string | undefined };

/** What a node answers for itself: another one is not asked. */
export type Said = Extract<Reply, { kind: "result" | "refused" }>;
