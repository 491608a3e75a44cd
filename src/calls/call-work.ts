// What one call makes nodes do: bounded, and paid for question by question.
import type { Meter } from "../access/limits/meter.ts";
import { errors, type RateLimit } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { AttemptLedger } from "../upstream/asking/call-options.ts";

/** So many times a call's own bound is that of all members of a batch together, beyond their first questions. */
const BATCH_FACTOR = 5;

/** The questions that the members of one batch may still ask beyond the first of each. */
export type BatchWork = { left: number };

/** @param limit What each member may ask for. */
export const batchWorkOf = (limit: number): BatchWork => ({ left: limit * BATCH_FACTOR });

export type CallWorkParts = {
  readonly clock: Pick<Clock, "now">;
  readonly meter: Pick<Meter, "charge">;
  /** Of all members of a batch; undefined for a lone call. */
  readonly batch: BatchWork | undefined;
};

export class CallWork implements AttemptLedger {
  /** How often a node was asked: retries, hedges and cross-checks are attempts too. */
  attempts = 0;
  /** Charged beyond the call's own price. */
  computeUnits = 0;
  /** How often an equal question was under way already. */
  joined = 0;
  readonly #limit: number;
  readonly #parts: CallWorkParts;

  /** @param options.limit The most attempts, after which no further question is begun. */
  constructor(options: { limit: number }, parts: CallWorkParts) {
    this.#limit = options.limit;
    this.#parts = parts;
  }

  /** The call's first question is in its price. One that no node has the method for was none. */
  get hasBegun(): boolean {
    return this.attempts + this.joined > 0;
  }

  /** How many more questions may be asked. */
  get left(): number {
    const { batch } = this.#parts;
    const ofBatch = batch ? batch.left + (this.hasBegun ? 0 : 1) : this.#limit;
    return Math.max(0, Math.min(this.#limit - this.attempts, ofBatch));
  }

  attempted(): void {
    this.attempts += 1;
  }

  merged(): void {
    this.joined += 1;
  }

  /**
   * A further question is paid before it is asked.
   *
   * @returns A promise while a reservation is under way.
   * @throws RpcError -32005: the bound is reached (200), or the key has not enough left (429).
   */
  pay(units: number): void | Promise<void> {
    if (this.left === 0) throw errors.tooMuchWork(this.#limit);
    const { batch, meter, clock } = this.#parts;
    if (batch) batch.left -= 1;
    const short = meter.charge(units, clock.now());
    if (short instanceof Promise) return short.then((told) => this.#paid(units, told));
    this.#paid(units, short);
  }

  #paid(units: number, short: RateLimit | undefined): void {
    if (short) throw errors.rateLimited(short);
    this.computeUnits += units;
  }
}
