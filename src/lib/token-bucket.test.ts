import { describe, expect, it } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

describe("a token bucket", () => {
  it("gives its size at once, and then as many as come back", () => {
    const bucket = new TokenBucket({ size: 20, perSecond: 10 }, 0);
    expect(bucket.take(20, 0)).toBe(true);
    expect(bucket.waitMs(15, 0)).toBe(1500);
    expect(bucket.take(15, 1499)).toBe(false);
    expect(bucket.take(15, 1500)).toBe(true);
    expect(bucket.left(1500)).toBe(0);
  });

  it("asks for a full bucket where more is wanted than it holds", () => {
    const bucket = new TokenBucket({ size: 20, perSecond: 10 }, 0, 10);
    expect(bucket.waitMs(50, 0)).toBe(1000);
    expect(bucket.take(50, 1000)).toBe(true);
  });

  it("never gives more of a quota than there is", () => {
    const quota = new TokenBucket({ size: 20, perSecond: 0 }, 0);
    expect(quota.take(21, 0)).toBe(false);
    expect(quota.take(20, 0)).toBe(true);
    expect(quota.waitMs(1, 1e9)).toBe(Number.POSITIVE_INFINITY);
  });

  it("owes what was spent beyond it, up to a bound", () => {
    const bucket = new TokenBucket({ size: 20, perSecond: 10 }, 0);
    bucket.spend(25, 0);
    expect(bucket.waitMs(1, 0)).toBe(600);
    bucket.spend(25, 0, 10);
    expect(bucket.left(0)).toBe(-10);
    bucket.spend(5, 0, 1);
    expect(bucket.left(0)).toBe(-10); // a smaller bound does not reduce the earlier debt
  });

  it("keeps what is there when its bounds change, as far as it holds that", () => {
    const bucket = new TokenBucket({ size: 100, perSecond: 10 }, 0);
    bucket.resize({ size: 20, perSecond: 5 }, 0);
    expect(bucket.take(20, 0)).toBe(true);
    bucket.resize({ size: 100, perSecond: 5 }, 1000);
    expect(bucket.left(1000)).toBe(5);
  });
});
