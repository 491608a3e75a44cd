import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import {
  type FreshnessOptions,
  HeadFreshness,
  type HeadNews,
  pollIntervalMs,
} from "./freshness.ts";

function followed(options: Omit<FreshnessOptions, "network"> = {}) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const seen: boolean[] = [];
  const write = (_: unknown, message: string): void => void lines.push(message);
  const freshness = new HeadFreshness(
    { network: "main", ...options },
    {
      clock,
      log: { warn: write, info: write } as never,
      metrics: { headSeen: (_, { isStale }) => void seen.push(isStale) },
    },
  );
  const confirm = (news: Partial<HeadNews> = {}): void =>
    freshness.hear({
      ...{ number: 7, timestampMs: clock.wallTime(), confirmedAgoMs: 0, blockMs: 1_000 },
      unusualAgeMs: undefined,
      ...news,
    });
  return { freshness, clock, lines, seen, confirm };
}
const unconfirmedFor = (ms: number) => ({ kind: "unconfirmed", ms });

describe("a head", () => {
  it.each([
    { blockMs: 200, fresh: 10_000 },
    { blockMs: 6_000, fresh: 30_000 },
    { blockMs: 600_000, fresh: 60_000 },
  ])("of a block every $blockMs ms counts for $fresh ms without the nodes", async (each) => {
    const { freshness, clock, confirm } = followed();
    confirm(each);
    await clock.advance(each.fresh);
    expect(freshness.look()).toBeUndefined();
    await clock.advance(1);
    expect(freshness.look()).toEqual(unconfirmedFor(each.fresh + 1));
  });

  it("that nodes confirm again and again may be as old as it likes", async () => {
    const { freshness, clock, confirm } = followed();
    for (let hour = 0; hour < 48; hour += 1) {
      confirm({ timestampMs: 0 });
      expect(freshness.look()).toBeUndefined();
      await clock.advance(3_600_000);
    }
  });

  it("is old when its network's blocks are never that late, or the operator says so", async () => {
    const usual = followed();
    await usual.clock.advance(240_001);
    usual.confirm({ timestampMs: 0, unusualAgeMs: 240_000 });
    expect(usual.freshness.look()).toEqual({ kind: "old", ms: 240_001 });
    const told = followed({ headAgeMs: 60_000 });
    await told.clock.advance(60_001);
    told.confirm({ timestampMs: 0 });
    expect(told.freshness.look()).toEqual({ kind: "old", ms: 60_001 });
    told.freshness.reconfigure({ headAgeMs: Number.POSITIVE_INFINITY });
    told.confirm({ timestampMs: 0, unusualAgeMs: 1 });
    expect(told.freshness.look()).toBeUndefined();
  });

  it("becomes stale by itself, is told once, and recovers when it is confirmed", async () => {
    const { freshness, clock, confirm, lines, seen } = followed({ staleAfterMs: 2_000 });
    freshness.start();
    confirm();
    for (let look = 0; look < 12; look += 1) await clock.advance(500);
    expect(freshness.staleness).toEqual(unconfirmedFor(6_000));
    confirm();
    expect(freshness.staleness).toBeUndefined();
    expect(lines).toEqual([
      "the head is stale: the network is not ready",
      "the head is fresh again",
    ]);
    expect(seen.at(-1)).toBe(false);
    freshness.close();
    expect(clock.waiting).toBe(0);
  });

  it("is as fresh elsewhere as where it was confirmed, however late the word comes", async () => {
    const { freshness, clock, confirm } = followed();
    await clock.advance(60_000);
    confirm();
    confirm({ confirmedAgoMs: 30_000 });
    expect(freshness.news()?.confirmedAgoMs).toBe(0);
    await clock.advance(4_000);
    expect(freshness.news()?.confirmedAgoMs).toBe(4_000);
    const other = followed();
    other.confirm({ confirmedAgoMs: 10_001 });
    expect(other.freshness.look()).toEqual(unconfirmedFor(10_001));
  });

  it("is not judged before there is one", () => {
    const { freshness } = followed();
    expect(freshness.look()).toBeUndefined();
    expect(freshness.news()).toBeUndefined();
  });
});

/** A store whose blocks have these times, oldest first, beginning at block 100. */
const storeOf = (times: readonly number[]): Parameters<typeof pollIntervalMs>[0] => ({
  head: times.length > 0 ? { number: 99 + times.length, hash: "" } : undefined,
  tail: times.length > 0 ? 100 : undefined,
  hashAt: (number) => (number >= 100 && number < 100 + times.length ? String(number) : undefined),
  outline: (hash) => ({ timestamp: times[Number(hash) - 100] ?? 0 }) as never,
});

it.each([
  { times: [], want: 500, why: "nothing is stored" },
  { times: [5], want: 500, why: "one block has no distance" },
  { times: [0, 12, 24, 36], want: 6000, why: "mainnet" },
  { times: [0, 2, 4, 6, 8], want: 1000, why: "two seconds" },
  { times: [0, 0, 0, 1, 1, 1], want: 100, why: "several blocks a second" },
  { times: [0, 3600, 3601, 3602], want: 500, why: "one long pause counts little" },
  { times: [0, 600, 1200], want: 6000, why: "slower than any limit" },
])("every $want ms: $why", ({ times, want }) => {
  expect(pollIntervalMs(storeOf(times))).toBe(want);
});
