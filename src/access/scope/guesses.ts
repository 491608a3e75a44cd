// Slows down callers that guess keys, by address: a caller that sends many unknown keys waits longer and longer for each
// refusal. Calls with known keys are never slowed down.
import { keepNewest } from "../../lib/keep-newest.ts";
import { subscriberOf } from "./client-address.ts";

export type GuessLimits = {
  /** How many unknown keys are refused without a delay. */
  readonly free: number;
  /** Once in this time, one guess is forgiven. */
  readonly forgivenAfterMs: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** How many refusals may be delayed at the same time, over all addresses. */
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

/** The treatment of an unknown key. */
export type GuessVerdict =
  | { readonly kind: "at once" }
  /** The caller of `judge` calls `done` after the delay, even if the wait was cut short. */
  | { readonly kind: "after"; readonly delayMs: number; readonly done: () => void }
  /** Too many refusals are delayed already. */
  | { readonly kind: "turned away"; readonly limit: number; readonly retryAfterMs: number };

type Past = {
  /** The guesses that are not forgiven yet at `atMs`; may be a fraction. */
  readonly guesses: number;
  readonly atMs: number;
};

export class Guesses {
  /** By subscriber, in the order of their last guesses; the oldest entry is forgotten first. */
  readonly #records = new Map<string, Past>();
  #held = 0;
  readonly #limits: GuessLimits;

  constructor(limits: GuessLimits = GUESS_LIMITS) {
    this.#limits = limits;
  }

  /** To be called for each unknown key. @param address The caller's, as `plainAddress` writes it. */
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

  /** Counts this guess, and returns the sum. The sum is capped at the longest delay, so that it is forgiven in time. */
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
