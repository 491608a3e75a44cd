// What may be sent to one node at once, and whose turn it is when more wants to be sent. Where nothing
// waits, nothing is delayed.
import type { Clock } from "../../lib/clock.ts";
import type { MemoryHolder } from "../../lib/memory-budget.ts";
import { type Asker, FairQueue } from "./fair-queue.ts";

/** An asker that waits until a deadline. */
export type HurriedAsker = Asker & {
  /** How long somebody waits for the answer from now on, in milliseconds. */
  readonly remainingMs: number;
  /** Where answers to it are counted while they come. */
  readonly memory?: MemoryHolder | undefined;
};

export type NodeTurnsOptions = {
  /** What the node is sent at once. */
  readonly slots: number;
};

/** Why there is no turn: too many wait, it would come too late, or nobody waits any more. */
export type NoTurn = { readonly kind: "full" | "late" | "left"; readonly waitMs: number };

type Waiting = {
  readonly asker: Asker;
  readonly begin: () => void;
};

/** Of what waits for one node. */
const MOST = { ofClient: 2_000, ofKey: 4_000, inAll: 16_000 };
/** The share of slots that is kept for keys of which the node has nothing: slow work of one key must not hold all. */
const KEPT_SHARE = 1 / 8;
/** How much the newest time counts. */
const SMOOTHING = 0.1;

export class NodeTurns {
  /** What is sent, by key. */
  readonly #runningByKey = new Map<string, number>();
  #running = 0;
  readonly #queue = new FairQueue<Waiting>();
  /** How long a slot is held, lately; 0 before anything was. */
  #meanMs = 0;
  readonly #slots: number;
  readonly #kept: number;
  readonly #clock: Pick<Clock, "now">;

  constructor({ slots }: NodeTurnsOptions, { clock }: { clock: Pick<Clock, "now"> }) {
    this.#slots = slots;
    this.#kept = Math.floor(slots * KEPT_SHARE);
    this.#clock = clock;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Takes a turn, to be given back with `end`.
   *
   * @returns undefined when it is taken at once, which is the usual case; else why there is none, or a
   * promise of either.
   */
  begin(
    asker: HurriedAsker,
    signal: AbortSignal,
  ): undefined | NoTurn | Promise<undefined | NoTurn> {
    if (this.#mayBegin(asker.holder) && this.#isNext(asker)) {
      this.#take(asker.holder);
      return undefined;
    }
    return this.#wait(asker, signal);
  }

  /** @param sent Left out: nothing was sent. `sentAtMs` is by the clock's `now`; `isCutOff`: nobody waited for the answer. */
  end({ holder }: Asker, sent?: { readonly sentAtMs: number; readonly isCutOff: boolean }): void {
    if (sent) this.#learn(this.#clock.now() - sent.sentAtMs, sent.isCutOff);
    this.#running -= 1;
    const running = (this.#runningByKey.get(holder) ?? 1) - 1;
    if (running === 0) this.#runningByKey.delete(holder);
    else this.#runningByKey.set(holder, running);
    if (this.#queue.size > 0) this.#beginNext();
  }

  /** An answer that was cut off would have taken longer: it says nothing when it took less than others. */
  #learn(ms: number, isCutOff: boolean): void {
    if (isCutOff && ms < this.#meanMs) return;
    this.#meanMs = this.#meanMs === 0 ? ms : this.#meanMs + (ms - this.#meanMs) * SMOOTHING;
  }

  #wait(asker: HurriedAsker, signal: AbortSignal): NoTurn | Promise<undefined | NoTurn> {
    const waitMs = (this.#queue.ahead(asker) * this.#meanMs) / this.#slots;
    const { ofKey, ofClient } = this.#queue.sizesOf(asker);
    const isFull =
      ofClient >= MOST.ofClient || ofKey >= MOST.ofKey || this.#queue.size >= MOST.inAll;
    if (isFull) return { kind: "full", waitMs };
    if (waitMs > asker.remainingMs) return { kind: "late", waitMs };
    return new Promise((resolve) => {
      const onLeave = (): void => {
        this.#queue.remove(waiting);
        resolve({ kind: "left", waitMs: 0 });
      };
      const begin = (): void => {
        signal.removeEventListener("abort", onLeave);
        resolve(undefined);
      };
      const waiting: Waiting = { asker, begin };
      if (signal.aborted) return resolve({ kind: "left", waitMs: 0 });
      signal.addEventListener("abort", onLeave, { once: true });
      this.#queue.add(waiting);
    });
  }

  #beginNext(): void {
    const next = this.#queue.take((holder) => this.#mayBegin(holder));
    if (!next) return;
    this.#take(next.asker.holder);
    next.begin();
  }

  #mayBegin(holder: string): boolean {
    const free = this.#slots - this.#running;
    return free > this.#kept || (free > 0 && !this.#runningByKey.has(holder));
  }

  /** Nobody waits, or none whose turn came before. */
  #isNext(asker: Asker): boolean {
    if (this.#queue.size === 0) return true;
    return !this.#runningByKey.has(asker.holder) && this.#queue.sizesOf(asker).ofKey === 0;
  }

  #take(holder: string): void {
    this.#running += 1;
    this.#runningByKey.set(holder, (this.#runningByKey.get(holder) ?? 0) + 1);
  }
}
