import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyRing, type KeySettings } from "./key-ring.ts";
import { originMatcher } from "./origins.ts";
import { TokenBucket } from "./token-bucket.ts";

const settings = (more: Partial<KeySettings> = {}): KeySettings =>
  ({ name: "demo", key: "demo-key", limits: { logs: {} }, ...more }) as KeySettings;

describe("a key", () => {
  it("is found by its text, whether configured as text or as hash", () => {
    const asHash = settings({
      key: undefined,
      hash: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    } as never);
    expect(new KeyRing([settings()], 0).find("demo-key", 0)?.name).toBe("demo");
    expect(new KeyRing([asHash], 0).find("foo", 0)?.name).toBe("demo");
    expect(new KeyRing([settings()], 0).find("demo-kez", 0)).toBeUndefined();
  });

  it("is unknown from the moment it expires", () => {
    const ring = new KeyRing([settings({ expiresAtMs: 1000 })], 0);
    expect(ring.find("demo-key", 999)).toBeDefined();
    expect(ring.find("demo-key", 1000)).toBeUndefined();
  });

  it("is bound to networks and methods when it names some", () => {
    const grant = new KeyRing(
      [settings({ networks: ["a"], methods: ["eth_get*", "net_version"] })],
      0,
    ).find("demo-key", 0);
    expect(grant?.allowsNetwork("a")).toBe(true);
    expect(grant?.allowsNetwork("b")).toBe(false);
    expect(grant?.allowsMethod("eth_getCode")).toBe(true);
    expect(grant?.allowsMethod("net_version")).toBe(true);
    expect(grant?.allowsMethod("eth_call")).toBe(false);
  });
});

describe("origins", () => {
  it.each([
    ["https://app.example.com", "https://app.example.com", true],
    ["https://app.example.com", "https://APP.example.com", true],
    ["https://app.example.com", "http://app.example.com", false],
    ["https://*.example.com", "https://a.b.example.com", true],
    ["https://*.example.com", "https://example.com", false],
    ["https://*.example.com", "https://.example.com", false],
    ["https://*.example.com", "https://evil.com/.example.com", false],
    ["*", "null", true],
    ["*", undefined, false],
  ])("%s covers %s: %s", (pattern, origin, want) => {
    expect(originMatcher([pattern])(origin)).toBe(want);
  });
});

describe("a rate", () => {
  it("refuses what is over the burst and says when to come back", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 20 }, 0);
    expect(bucket.take(20, 0)).toBeUndefined();
    expect(bucket.take(15, 0)).toEqual({ limit: 10, remaining: 0, retryAfter: 2 });
    expect(bucket.take(15, 1500)).toBeUndefined();
  });

  it("never gives more than burst + rate × time", () => {
    const steps = fc.array(
      fc.record({ waitMs: fc.nat(500), cost: fc.integer({ min: 1, max: 30 }) }),
    );
    fc.assert(
      fc.property(steps, (asked) => {
        const bucket = new TokenBucket({ perSecond: 50, burst: 40 }, 0);
        let now = 0;
        let taken = 0;
        for (const { waitMs, cost } of asked) {
          now += waitMs;
          if (!bucket.take(cost, now)) taken += cost;
        }
        expect(taken).toBeLessThanOrEqual(40 + (now / 1000) * 50 + 1e-6);
      }),
    );
  });
});
