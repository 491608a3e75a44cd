// An answer that one node alone is not believed in: how long those are waited for who may know better.
import type { Clock } from "../../lib/clock.ts";
import type { Health, OpenCall } from "../health/health.ts";
import type { Said } from "./call-options.ts";

/** A node that is being asked. `order`: how many were asked before. */
export type Attempt<Node> = {
  readonly node: Node;
  readonly order: number;
  call: OpenCall | undefined;
};

export type DoubtParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly running: ReadonlySet<Attempt<{ readonly health: Pick<Health, "isSilent"> }>>;
  /** Called when nobody is waited for any more. */
  readonly onEnd: () => void;
};

/**
 * Who may know better than a first answer is waited for so much longer than usual. Who should have been
 * the first is waited for up to `mostMs` while it says anything at all.
 */
const PATIENCE = { times: 4, leastMs: 100, mostMs: 2_000 };
/** Of what must be somewhere, a node that says nothing is waited for longer. */
const LACK_PATIENCE_MS = 1_000;

export class Doubt {
  /** The first of these answers: it counts when there is no better one. */
  #said: Said | undefined;
  #stop: () => void = () => undefined;
  readonly #usualMs: number;
  readonly #parts: DoubtParts;

  /** @param options.usualMs How long such calls take at most, as a rule. */
  constructor(options: { readonly usualMs: number }, parts: DoubtParts) {
    this.#usualMs = options.usualMs;
    this.#parts = parts;
  }

  get said(): Said | undefined {
    return this.#said;
  }

  /** What one node lacks another one must have; what it does not know may not be there at all. */
  get isPerhapsAll(): boolean {
    return this.#said?.kind === "result";
  }

  /** In milliseconds. */
  get patienceMs(): number {
    return Math.max(PATIENCE.leastMs, PATIENCE.times * this.#usualMs);
  }

  /** The others are heard as well, but not waited for without end. @param order Of the attempt. */
  begin(said: Said, order: number): void {
    this.#said = said;
    const { clock, onEnd } = this.#parts;
    const since = clock.now();
    const patienceMs = this.isPerhapsAll
      ? Math.min(this.patienceMs, PATIENCE.mostMs)
      : Math.max(this.patienceMs, LACK_PATIENCE_MS);
    const look = (): void => {
      const isLong = this.isPerhapsAll && clock.now() - since >= PATIENCE.mostMs;
      if (isLong || !this.#isAnyoneAwaited(order)) onEnd();
      else this.#stop = clock.after(patienceMs, look);
    };
    this.#stop = clock.after(patienceMs, look);
  }

  stop(): void {
    this.#stop();
  }

  #isAnyoneAwaited(order: number): boolean {
    const { running } = this.#parts;
    // What waits for budget has a patience of its own.
    if (!this.isPerhapsAll && running.size === 0) return true;
    return [...running].some(
      (attempt) =>
        (!this.isPerhapsAll || attempt.order < order) &&
        !(attempt.call && attempt.node.health.isSilent(attempt.call)),
    );
  }
}
