// Slows down whoever guesses keys, by address: a caller that sends many unknown keys waits longer and longer for the
// refusal. Known keys are never slowed down.
import { keepNewest } from "../../lib/keep-newest.ts";
import { subscriberOf } from "./client-address.ts";

export type GuessLimits = {
  /** How many unknown keys are refused at once. */
  readonly free: number;
  /** After this time one guess is forgiven. */
  readonly forgivenAfterMs: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** How many refusals may wait at the same time. */
  readonly held: number;
  readonly addresses: number;
};

export const GUESS_LIMITS: GuessLimits = {
  free: 10,
  forgivenAfterMs: 6_000,
  firstDelayMs: 100,
  longestDelayMs: 5_000,
  held: 1_000,
  addresses: 10_000,
};

/** What to do about an unknown key. */
export type GuessVerdict =
  | { readonly kind: "at once" }
  /** Call `done` after the wait, however it ended. */
  | { readonly kind: "after"; readonly delayMs: number; readonly done: () => void }
  /** Too many refusals wait already. */
  | { readonly kind: "turned away"; readonly limit: number; readonly retryAfterMs: number };

type Past = {
  /** The guesses that were not forgiven yet, as of `atMs`. */
  readonly guesses: number;
  readonly atMs: number;
};

export class Guesses {
  /** By subscriber, in the order of their last guess. The first one is forgotten first. */
  readonly #records = new Map<string, Past>();
  #held = 0;
  readonly #limits: GuessLimits;

  constructor(limits: GuessLimits = GUESS_LIMITS) {
    this.#limits = limits;
  }

  /** To be called when an unknown key came from a plain address (`plainAddress`). */
  judge(address: string, nowMs: number): GuessVerdict {
    const over = Math.ceil(this.#count(subscriberOf(address), nowMs) - this.#limits.free);
    if (over <= 0) return { kind: "at once" };
    const { firstDelayMs, longestDelayMs, held, free: limit } = this.#limits;
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (over - 1));
    if (this.#held >= held) return { kind: "turned away", limit, retryAfterMs: delayMs };
    this.#held += 1;
    const done = (): void => {
      this.#held -= 1;
    };
    return { kind: "after", delayMs, done };
  }

  /**
   * The number of guesses with this one. Guesses beyond the longest delay are not counted: they would be forgiven too
   * late.
   */
  #count(subscriber: string, nowMs: number): number {
    const { forgivenAfterMs, addresses } = this.#limits;
    const known = this.#records.get(subscriber);
    const forgiven = known ? (nowMs - known.atMs) / forgivenAfterMs : 0;
    const guesses = Math.min(this.#most(), Math.max(0, (known?.guesses ?? 0) - forgiven) + 1);
    keepNewest(this.#records, [subscriber, { guesses, atMs: nowMs }], addresses);
    return guesses;
  }

  #most(): number {
    const { free, firstDelayMs, longestDelayMs } = this.#limits;
    return free + Math.ceil(Math.log2(longestDelayMs / firstDelayMs)) + 1;
  }
}
