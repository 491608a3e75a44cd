// What the nodes say to one log query, one after the other: in what one alone is not believed, and what
// their refusals teach.
import { hasTooManyCriteria, sizeRefusal } from "../evm/log-refusals.ts";
import { OPEN_BRACE } from "../jsonrpc/ascii.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { FinalReply } from "../upstream/asking/call-options.ts";
import type { Reply } from "../upstream/reply.ts";
import type { LogRange } from "./log-range.ts";

/** How far the next question may go. */
export type Narrower = {
  readonly width: number;
  /** All nodes say so of any range, whatever is in it. */
  readonly isForAll: boolean;
};

type Refusal = { readonly message: string; readonly json?: string | undefined };

/** So many have to find nothing before it is believed to be so for ever. */
const AGREEING = 2;
const LONGEST_ERROR = 10_000;

export class LogReplies {
  readonly #range: LogRange;
  readonly #isEmptyUncertain: boolean;
  readonly #upstreams = new Map<Buffer, string>();
  #nothings = 0;
  #isHistoryLacking = false;
  /** By the node that takes the most. */
  #width = 0;
  #isForAll = true;

  /**
   * @param options.isEmptyUncertain A node without the history of a block finds nothing in it, and only
   * the block itself would tell: so a second node is asked as well.
   */
  constructor({ range, isEmptyUncertain }: { range: LogRange; isEmptyUncertain: boolean }) {
    this.#range = range;
    this.#isEmptyUncertain = isEmptyUncertain;
  }

  /** Learns from what a node says, before it is judged. */
  hear(reply: FinalReply, upstream: string): void {
    if (reply.kind === "result") {
      this.#upstreams.set(reply.json, upstream);
      if (isNothing(reply.json)) this.#nothings += 1;
      return;
    }
    if (reply.lacks === "history") this.#isHistoryLacking = true;
    this.#learn(reply);
  }

  /** Whether the next node is to be asked as well, as far as was heard. */
  isUncertain(reply: Reply): boolean {
    if (reply.kind === "refused")
      return (
        this.#sizeIn(reply) !== undefined || reply.lacks !== undefined || hasTooManyCriteria(reply)
      );
    if (reply.kind !== "result" || !isNothing(reply.json)) return false;
    return this.#isEmptyUncertain && this.#nothings < AGREEING;
  }

  /** Whose logs these are; undefined where somebody else's question was joined. */
  upstreamOf(logs: Buffer): string | undefined {
    return this.#upstreams.get(logs);
  }

  /** Some node found nothing: a better answer than another one's refusal, which may have come first. */
  get hasNothing(): boolean {
    return this.#nothings > 0;
  }

  /** Whether these logs will be found again by everyone who has the history. */
  isLasting(logs: Buffer): boolean {
    if (this.#isHistoryLacking) return false;
    return !isNothing(logs) || this.#nothings >= AGREEING;
  }

  /**
   * The most that some node would take, when what it refused was the size.
   *
   * @param refusal The one that counted in the end: who joined somebody else's question heard no other.
   */
  narrower(refusal: Refusal): Narrower | undefined {
    if (this.#width === 0) this.#learn(refusal);
    return this.#width === 0 ? undefined : { width: this.#width, isForAll: this.#isForAll };
  }

  #learn(refusal: Refusal): void {
    const { from, to } = this.#range;
    const size = this.#sizeIn(refusal);
    if (!size) return;
    const half = Math.max(1, Math.floor((to - from + 1) / 2));
    const { hint, widest = half } = size;
    this.#width = Math.max(this.#width, hint === undefined ? widest : hint - from + 1);
    this.#isForAll &&= size.about === "range";
  }

  /** undefined when it is not the size that is refused. */
  #sizeIn({ message, json = "" }: Refusal): ReturnType<typeof sizeRefusal> {
    const error = json.length > LONGEST_ERROR ? undefined : parsed(json);
    const { data } = (error ?? {}) as { data?: unknown };
    return sizeRefusal({ message, data }, this.#range);
  }
}

const isNothing = (logs: Buffer): boolean => !logs.includes(OPEN_BRACE);
