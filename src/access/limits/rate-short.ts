// What a 429 tells of a rate.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Bounds } from "../../lib/token-bucket.ts";

/** `size` is the burst. */
export type RateBounds = Bounds;

export function rateShort({ size, perSecond }: RateBounds, units: number, left: number): RateLimit {
  const missing = Math.min(units, size) - left;
  return {
    limit: perSecond,
    remaining: Math.max(0, Math.floor(left)),
    retryAfter: Math.max(1, Math.ceil(missing / perSecond)),
    rule: "rate",
  };
}
