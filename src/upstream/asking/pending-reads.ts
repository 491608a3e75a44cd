// Reads of the pending block do not go back where that block only grows (Flashblocks: on Base, Unichain and others, every
// 200 ms with more transactions). The block shows its position: its number, and how many transactions it has.
import { numberIn } from "../../evm/values.ts";
import { findElements, findMembers, textOf } from "../../jsonrpc/members.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Reply } from "../reply.ts";
import type { CallOptions } from "./call-options.ts";

/** For so long a call asks again for a block that is not lower than a shown one: ten Flashblocks, one block of OP chains. */
const ASKED_AGAIN_MS = 2_000;
/** The pause before a call asks again, in milliseconds. */
export const PENDING_AGAIN_AFTER_MS = 100;
/** For so long after its last growth the network counts as one whose pending block grows. */
const GROWS_MS = 60_000;

/** How far the pending block had come. */
type PendingPosition = {
  readonly number: number;
  /** The hashes of the transactions, in order. */
  readonly hashes: readonly string[];
};

/** The reads of one network's pending block and state. */
export class PendingReads {
  /** The last position in an answer, and the node that gave it. */
  #shown: (PendingPosition & { readonly node: string | undefined }) | undefined;
  #growsUntilMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { readonly clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  begin(options: CallOptions): PendingRead {
    return new PendingRead(options, this);
  }

  /** The node that showed the highest position; undefined where the pending block is not known to grow. */
  get leader(): string | undefined {
    return this.isGrowing ? this.#shown?.node : undefined;
  }

  /** Whether the pending block was seen to grow lately. */
  get isGrowing(): boolean {
    return this.#clock.now() < this.#growsUntilMs;
  }

  /**
   * Whether a caller has seen a later position. Of two drafts with the same number, the shorter one is earlier only where
   * the block grows: other nodes make drafts anew, with other transactions.
   */
  isLower(position: PendingPosition): boolean {
    const shown = this.#shown;
    if (!shown || position.number > shown.number) return false;
    if (position.number < shown.number) return true;
    const isShorter = position.hashes.length < shown.hashes.length;
    return isShorter && (this.isGrowing || isBeginning(position, shown));
  }

  /** Whether a call that began at `sinceMs` asks again, rather than show this position. */
  isTooLow(position: PendingPosition, sinceMs: number): boolean {
    return this.isLower(position) && this.#clock.now() - sinceMs < ASKED_AGAIN_MS;
  }

  show(position: PendingPosition, node: string | undefined): void {
    this.learn(position);
    this.#shown = { ...position, node };
  }

  /** A block that begins with all transactions of an earlier one has grown: nodes that make drafts anew sort them anew. */
  learn(position: PendingPosition): void {
    const shown = this.#shown;
    if (shown?.number !== position.number) return;
    if (isBeginning(shown, position) || isBeginning(position, shown))
      this.#growsUntilMs = this.#clock.now() + GROWS_MS;
  }
}

/** Whether `whole` begins with all transactions of `part`, at least one, and has more. */
const isBeginning = ({ hashes: part }: PendingPosition, { hashes: whole }: PendingPosition) =>
  part.length > 0 && part.length < whole.length && part.every((hash, at) => whole[at] === hash);

/** One read. */
class PendingRead {
  /** The options of the call, with which it asks the leader first, and cross-checks a position that is too low. */
  readonly options: CallOptions;
  /** The results so far, with their nodes. */
  readonly #told = new Map<Buffer, { node: string; position: PendingPosition | undefined }>();
  readonly #reads: PendingReads;

  constructor(options: CallOptions, reads: PendingReads) {
    const { crossCheck, onReply, session } = options;
    const { leader } = reads;
    this.#reads = reads;
    this.options = {
      ...options,
      session: leader === undefined ? session : { node: leader },
      onReply: (reply, node) => {
        if (reply.kind === "result")
          this.#told.set(reply.json, { node, position: pendingPositionIn(reply.json) });
        onReply?.(reply, node);
      },
      crossCheck: {
        name: `${crossCheck?.name ?? ""} pending`,
        isUncertain: (reply) => this.#isLower(reply) || (crossCheck?.isUncertain(reply) ?? false),
      },
    };
  }

  /** Whether the answer may be shown, which is then noted; else the call should ask again. */
  show(json: Buffer, sinceMs: number): boolean {
    const { node, position } = this.#told.get(json) ?? {};
    if (!position) return true;
    if (this.#reads.isTooLow(position, sinceMs)) {
      this.#reads.learn(position);
      return false;
    }
    this.#reads.show(position, node);
    return true;
  }

  #isLower(reply: Reply): boolean {
    const told = reply.kind === "result" ? this.#told.get(reply.json) : undefined;
    return told?.position !== undefined && this.#reads.isLower(told.position);
  }
}

/** The position of a block; undefined for any other value, and for a block without its number. */
function pendingPositionIn(json: Buffer): PendingPosition | undefined {
  const [numbered, listed] = findMembers(json, ["number", "transactions"]) ?? [];
  const number = numbered && numberIn(parsed(json.subarray(numbered.start, numbered.end)));
  const list = listed && json.subarray(listed.start, listed.end);
  const elements = list && findElements(list);
  if (number === undefined || !elements) return undefined;
  const hashes = elements.map((element) => {
    const transaction = list.subarray(element.start, element.end);
    const [hash] = findMembers(transaction, ["hash"]) ?? [];
    return (hash ? textOf(transaction, hash) : transaction.toString("latin1")).toLowerCase();
  });
  return { number, hashes };
}
