// What callers may cost without being of use: refused requests, and the bytes in them. Who used it up is
// refused before more of a request is read.

import { TokenBucket } from "../../lib/token-bucket.ts";

export type RefusalLimits = {
  /** Points that come back each second; 0: there is no limit. A refused request costs one. */
  readonly perSecond: number;
};

/** So many seconds' worth may be used at once; and so many seconds it takes at most to be let in again. */
const SAVED_SECONDS = 20;
/** Callers that are remembered. */
const MOST_CALLERS = 10_000;

export class RefusalBudget {
  /** Who was refused last is the last one; the first one is forgotten first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** Until when those are refused that used it up: few, and none in quiet times. */
  readonly #exhausted = new Map<string, number>();
  #limits: RefusalLimits;

  constructor(limits: RefusalLimits) {
    this.#limits = limits;
  }

  reconfigure(limits: RefusalLimits): void {
    this.#limits = limits;
    if (limits.perSecond === 0) this.#exhausted.clear();
  }

  get perSecond(): number {
    return this.#limits.perSecond;
  }

  /** Nobody is refused: who asks for anybody need not find out who calls. */
  get isQuiet(): boolean {
    return this.#exhausted.size === 0;
  }

  /** For how many milliseconds a caller is refused; 0: not. */
  refusedForMs(caller: string, nowMs: number): number {
    this.#forgetOne(nowMs);
    const untilMs = this.#exhausted.get(caller) ?? 0;
    if (untilMs > nowMs) return untilMs - nowMs;
    this.#exhausted.delete(caller);
    return 0;
  }

  /** What a caller sent was refused. @param points 1 for a request, more for what it cost. */
  charge(caller: string, points: number, nowMs: number): void {
    const { perSecond } = this.#limits;
    if (perSecond === 0) return;
    const bounds = { size: perSecond * SAVED_SECONDS, perSecond };
    const bucket = this.#buckets.get(caller) ?? new TokenBucket(bounds, nowMs);
    bucket.resize(bounds, nowMs);
    bucket.spend(points, nowMs, bounds.size);
    keepNewest(this.#buckets, caller, bucket);
    const left = bucket.left(nowMs);
    if (left < 0) keepNewest(this.#exhausted, caller, nowMs + (-left / perSecond) * 1000);
  }

  /** Those who do not come again leave as well, one by one. */
  #forgetOne(nowMs: number): void {
    for (const [caller, untilMs] of this.#exhausted) {
      if (untilMs <= nowMs) this.#exhausted.delete(caller);
      return;
    }
  }
}

function keepNewest<Value>(entries: Map<string, Value>, caller: string, value: Value): void {
  entries.delete(caller);
  entries.set(caller, value);
  if (entries.size <= MOST_CALLERS) return;
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
}
