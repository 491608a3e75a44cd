// Whether a log query asks the nodes for more than a call may, and which range would not: known before
// much of it is asked for, where the nodes' widest range is known.
import { toQuantity } from "../evm/values.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { LogRange } from "./log-range.ts";
import type { CallContext } from "./method.ts";

type Piece = LogRange & { readonly isKept: boolean };

/** A proposed range asks this share of what is allowed: nodes may be found to take less here and there. */
const SHARE = 0.75;
/** Of what was read when the questions were used up: where logs are dense, the second half may cost more. */
const SHARE_READ = 0.5;

export class LogWork {
  /** Questions that the query may ask. */
  readonly #most: number;
  readonly #range: LogRange;
  readonly #context: Pick<CallContext, "ranges" | "network">;
  readonly #pieces: () => Iterable<Piece>;
  /** The width that was found to be wide enough. */
  #fitting = Number.POSITIVE_INFINITY;

  /** @param parts.pieces The pieces of the whole range as they would be asked for now. */
  constructor(
    options: { range: LogRange },
    parts: {
      context: Pick<CallContext, "ranges" | "network" | "questionsLeft">;
      pieces: () => Iterable<Piece>;
    },
  ) {
    this.#range = options.range;
    this.#context = parts.context;
    this.#pieces = parts.pieces;
    this.#most = parts.context.questionsLeft;
  }

  /** @throws RpcError `rangeTooCostly` when the nodes take so few blocks that the questions will not do. */
  check(): void {
    const { width } = this.#context.ranges;
    if (width >= this.#fitting) return;
    const { from, to } = this.#range;
    if (Math.ceil((to - from + 1) / width) + 1 > this.#most) this.#count();
    this.#fitting = width;
  }

  /** What is thrown when the questions are used up. @param next The first block that was not read. */
  usedUp(next: number): RpcError {
    const { from } = this.#range;
    return this.#tooCostly(from + Math.floor((next - from) * SHARE_READ) - 1);
  }

  #count(): void {
    const affordable = Math.max(1, Math.floor(this.#most * SHARE));
    let [asked, last] = [0, this.#range.from];
    for (const { to, isKept } of this.#pieces()) {
      if (!isKept) asked += 1;
      if (asked > this.#most) throw this.#tooCostly(last);
      if (asked <= affordable) last = to;
    }
  }

  #tooCostly(last: number): RpcError {
    const { from } = this.#range;
    const range = { from: toQuantity(from), to: toQuantity(Math.max(from, last)) };
    return errors.rangeTooCostly(this.#context.network.limits.upstreamCalls, range);
  }
}
