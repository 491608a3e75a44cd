import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { BatchSizes } from "./batch-sizes.ts";

function sizesOf(configured?: number) {
  const clock = new FakeClock();
  const limits: number[] = [];
  const onLimited = (size: number): unknown => limits.push(size);
  const sizes = new BatchSizes({ configured }, { clock, onLimited });
  const most = (): number => sizes.mostOf("state");
  /** Sends a request with this many members, which takes this long. */
  const request = async (members: number, ms: number): Promise<void> => {
    await clock.advance(0.1);
    const sentAtMs = clock.now();
    await clock.advance(ms);
    sizes.answered("state", members, sentAtMs);
  };
  const fail = async (): Promise<void> => {
    const sentAtMs = clock.now();
    await clock.advance(1);
    sizes.failed("state", sentAtMs);
  };
  return { clock, sizes, limits, most, request, fail };
}

describe("what may go together", () => {
  it.each([
    { workKind: "state", isBatchable: true, learned: "state", configured: "other" },
    { workKind: "execution", isBatchable: true, learned: "execution", configured: "other" },
    { workKind: "logs", isBatchable: true, learned: undefined, configured: "other" },
    { workKind: "traces", isBatchable: true, learned: undefined, configured: "other" },
    { workKind: "submission", isBatchable: false, learned: undefined, configured: undefined },
  ] as const)("is of one quick kind, unless it is configured: $workKind", (of) => {
    expect(sizesOf().sizes.groupOf(of)).toBe(of.learned);
    expect(sizesOf(50).sizes.groupOf(of)).toBe(of.configured);
  });

  it("is as much as is configured, whatever comes of it but a refusal", async () => {
    const { sizes, most, request, fail, limits } = sizesOf(50);
    for (let times = 0; times < 20; times += 1) {
      await request(50, 5_000);
      await fail();
    }
    expect(most()).toBe(50);
    expect(sizes.lateMs("state")).toBe(Number.POSITIVE_INFINITY);
    sizes.refused(50);
    sizes.refused(50);
    expect([most(), limits]).toEqual([25, [25]]);
  });
});

describe("a size that is learned", () => {
  it("doubles up to 100 while batches add little to a request's time", async () => {
    const { most, request } = sizesOf();
    const seen: number[] = [];
    for (let times = 0; times < 9; times += 1) {
      seen.push(most());
      await request(1, 10);
      await request(most(), 10 + 0.02 * most());
    }
    expect(seen).toEqual([2, 4, 8, 16, 32, 64, 100, 100, 100]);
  });

  it("is tried with one request at a time until one went well, or is waited for in vain", async () => {
    const { clock, sizes, request } = sizesOf();
    const takes = (): number[] => [1, 2, 3].map(() => sizes.take("state"));
    await clock.advance(1);
    expect(takes()).toEqual([2, 1, 1]);
    await clock.advance(1_000);
    expect(takes()).toEqual([2, 1, 1]);
    await request(1, 1); // the request had room for two members, and had one
    expect(takes()).toEqual([2, 1, 1]);
    await request(2, 1);
    expect(takes()).toEqual([4, 4, 4]);
  });

  it("does not grow by batches that were smaller", async () => {
    const { most, request } = sizesOf();
    await request(2, 1);
    for (let times = 0; times < 10; times += 1) await request(3, 1);
    expect(most()).toBe(4);
  });

  it.each([
    { what: "half a millisecond", memberMs: 0.5, from: 3, to: 9 },
    { what: "three milliseconds", memberMs: 3, from: 1, to: 3 },
    { what: "50 milliseconds", memberMs: 50, from: 1, to: 2 },
  ])("is what a node that works on one after the other in $what does in few", async (node) => {
    const { most, request } = sizesOf();
    let members = 0;
    let requests = 0;
    for (let times = 0; times < 300; times += 1) {
      await request(1, 2 + node.memberMs);
      const size = most();
      await request(size, 2 + node.memberMs * size);
      if (times < 100) continue;
      members += size;
      requests += 1;
    }
    expect(members / requests).toBeGreaterThanOrEqual(node.from);
    expect(members / requests).toBeLessThanOrEqual(node.to);
  });

  it("grows also where requests wait for other things by chance", async () => {
    const { most, request } = sizesOf();
    let seed = 7;
    const byChance = (): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    for (let times = 0; times < 60; times += 1)
      await request(most(), 20 + 60 * byChance() + 0.05 * most());
    expect(most()).toBe(100);
  });

  it("is halved by what goes wrong, once for all that was sent before, and rests longer each time", async () => {
    const { clock, sizes, most, request, fail } = sizesOf();
    for (let times = 0; times < 3; times += 1) await request(most(), 1);
    expect(most()).toBe(16);
    await clock.advance(1);
    const sentAtMs = clock.now();
    await clock.advance(1);
    for (let times = 0; times < 5; times += 1) sizes.failed("state", sentAtMs);
    expect(most()).toBe(8);
    for (const restMs of [1_000, 2_000, 4_000]) {
      while (most() > 1) await fail();
      await clock.advance(restMs - 1);
      expect(most()).toBe(1);
      await clock.advance(1);
      expect(most()).toBe(2);
    }
  });

  it("of one kind says nothing of others", async () => {
    const { most, sizes, fail } = sizesOf();
    await fail();
    expect([most(), sizes.mostOf("execution")]).toEqual([1, 2]);
  });

  it("stays below what the node refused, for ten minutes", async () => {
    const { clock, sizes, most, request, limits } = sizesOf();
    for (let times = 0; times < 4; times += 1) await request(most(), 1);
    sizes.refused(32);
    expect([most(), limits]).toEqual([16, [16]]);
    await request(16, 1);
    expect(most()).toBe(16);
    await clock.advance(600_000);
    expect(most()).toBe(32);
  });
});
