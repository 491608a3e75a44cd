// All messages between the thread that answers callers and a thread of `thread-main.ts`. Bytes are sent as they are.
import type { NetworkRules } from "../../proofs/prove-block.ts";
import type { Reply } from "../../upstream/reply.ts";
import type { SentRecord } from "../block-record.ts";
import type { BlockLimits, ChainDialect, ReceiptTerms, Reference } from "../dialect.ts";
import type { StoreSize } from "../store-eviction.ts";
import type { StoreWriting } from "../writing.ts";

export type ThreadStart = {
  /** A counter that the thread raises while it lives; it is read without asking the thread. */
  readonly beats: SharedArrayBuffer;
  /** Whether the thread has a lower priority than callers and heads. */
  readonly isSpare: boolean;
};

export type OpenedStore = StoreSize & { readonly path: string };

/** A block to be stored: the id of the call by which the writer thread ingested it, or the record from another thread. */
export type HeldBlock = number | SentRecord;

/** The methods of a store in the writer thread. */
export type HeldStore = Omit<
  StoreWriting,
  "tables" | "size" | "apply" | "startAt" | "below" | "keep"
> & {
  apply(update: { readonly removed: number; readonly added: readonly HeldBlock[] }): Promise<void>;
  startAt(block: HeldBlock): Promise<void>;
  addBelow(blocks: readonly HeldBlock[]): Promise<boolean>;
  finishBelow(): Promise<number>;
  keep(block: HeldBlock, isCanonical: boolean): Promise<void>;
};

/** The thread answers each call with a result of the same id. */
export type ThreadCall =
  | { readonly kind: "open"; readonly options: OpenedStore }
  | {
      readonly kind: "write";
      readonly method: keyof HeldStore;
      readonly params: readonly unknown[];
    }
  | IngestCall;

export type IngestCall = {
  readonly kind: "ingest";
  readonly dialect: ChainDialect["kind"];
  readonly reference: Reference;
  readonly node: string;
  /** The optional methods that the node does not have. */
  readonly missing: readonly string[];
  readonly limits: BlockLimits;
  readonly rules: NetworkRules | undefined;
  readonly receipts: ReceiptTerms;
  /** Whether the thread sends the block with the answer; else the thread holds the block under the call's id. */
  readonly isSent: boolean;
};

export type ToThread =
  | {
      readonly kind: "call";
      readonly id: number;
      readonly store: number;
      readonly call: ThreadCall;
    }
  /** The reply of a node to an `ask` of the thread. */
  | { readonly kind: "reply"; readonly ask: number; readonly reply: Reply }
  /** The block that this call ingested is not wanted any more. */
  | { readonly kind: "forget"; readonly id: number }
  /** The thread is to end. */
  | { readonly kind: "end" };

export type ThreadResult =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "not writable"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string; readonly code: unknown };

export type FromThread =
  | { readonly kind: "answer"; readonly id: number; readonly result: ThreadResult }
  /** A call to the node from which a block is being ingested. */
  | ({ readonly kind: "ask" } & Asked);

export type Asked = {
  readonly id: number;
  readonly ask: number;
  readonly method: string;
  readonly paramsJson: string;
  readonly maxBytes: number | undefined;
};
