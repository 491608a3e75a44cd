// Whether a node that failed again and again is asked: not for a while, then once, then as before. Pure.

export type Breaker =
  | { readonly kind: "closed"; readonly failuresInARow: number }
  | { readonly kind: "open"; readonly until: number; readonly pauseMs: number }
  /** The pause is over: one call at a time tries. */
  | {
      readonly kind: "half-open";
      readonly pauseMs: number;
      readonly successes: number;
      readonly isTrying: boolean;
    };

export const CLOSED: Breaker = { kind: "closed", failuresInARow: 0 };

const OPENS_AFTER = 5;
/** Or when so many of the recent calls failed, whatever lay between. */
const OPENS_AT = { errorRate: 0.5, failures: 10 };
const FIRST_PAUSE_MS = 1_000;
/** Short: who is well again is noticed within seconds. */
const LONGEST_PAUSE_MS = 5_000;
const CLOSES_AFTER = 3;

/** The breaker as time has made it. @param nowMs On the clock that `until` is of. */
export function breakerAt(breaker: Breaker, nowMs: number): Breaker {
  if (breaker.kind !== "open" || nowMs < breaker.until) return breaker;
  return { kind: "half-open", pauseMs: breaker.pauseMs, successes: 0, isTrying: false };
}

/** A call is sent to the node. */
export const afterSending = (breaker: Breaker): Breaker =>
  breaker.kind === "half-open" ? { ...breaker, isTrying: true } : breaker;

export function afterSuccess(breaker: Breaker): Breaker {
  switch (breaker.kind) {
    case "closed":
      return breaker.failuresInARow === 0 ? breaker : CLOSED;
    case "open": // one that was sent before it opened
      return breaker;
    case "half-open": {
      const successes = breaker.successes + 1;
      return successes >= CLOSES_AFTER ? CLOSED : { ...breaker, successes, isTrying: false };
    }
  }
}

/** @param recent Of the sliding window, this failure included. */
export function afterFailure(
  breaker: Breaker,
  recent: { errorRate: number; failures: number },
  nowMs: number,
): Breaker {
  switch (breaker.kind) {
    case "closed": {
      const failuresInARow = breaker.failuresInARow + 1;
      const isFailing =
        recent.failures >= OPENS_AT.failures && recent.errorRate >= OPENS_AT.errorRate;
      if (failuresInARow < OPENS_AFTER && !isFailing) return { kind: "closed", failuresInARow };
      return { kind: "open", until: nowMs + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS };
    }
    case "open":
      return breaker;
    case "half-open": {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, breaker.pauseMs * 2);
      return { kind: "open", until: nowMs + pauseMs, pauseMs };
    }
  }
}

/** The call came to no end that says anything of the node. */
export const afterNothing = (breaker: Breaker): Breaker =>
  breaker.kind === "half-open" ? { ...breaker, isTrying: false } : breaker;
