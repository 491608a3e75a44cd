// Random chains made odd in random ways, of one to three nodes: no network is ever silent.
import fc from "fast-check";
import { expect, it } from "vitest";
import { atDepth } from "../support/depth.ts";
import { followInMemory, OddNode } from "../support/followed-in-memory.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { UNUSABLE } from "../support/oddities.ts";

const story = fc.record({
  seed: fc.nat(1_000),
  blockSeconds: fc.constantFrom(1, 2, 12),
  /** How many heights each node is behind; one of them is never behind by more than a block. */
  lags: fc.array(fc.constantFrom(0, 0, 1, "stopped" as const), { minLength: 0, maxLength: 2 }),
  place: fc.nat(2),
  blocks: fc.array(
    fc.record({
      skipped: fc.constantFrom(0, 0, 0, 1, 2, 9),
      odd: fc.option(fc.constantFrom(...Object.keys(UNUSABLE)), { freq: 2 }),
      /** The nodes that give the block so. */
      of: fc.constantFrom("all", "first", "last"),
    }),
    { minLength: 3, maxLength: 10 },
  ),
});

/** The chain may be behind for three block times, or as long as it takes to tell a pause from an obstacle. */
const LEAST_MS = 5_000;
const SLACK_MS = 1_000;

/**
 * The newest number that most of the nodes have: of two nodes, the one that is behind keeps the other from being believed
 * while the head is young. A node that stands still at the first block knows nothing.
 */
function newestOf(nodes: readonly OddNode[]): number {
  const heads = nodes.filter(({ lag }) => lag !== "stopped").map(({ head }) => head.number);
  return heads.sort((a, b) => b - a)[Math.floor(heads.length / 2)] ?? 0;
}

type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never;

async function tell({ seed, blockSeconds, lags, place, blocks: told }: Story): Promise<void> {
  const blockMs = blockSeconds * 1_000;
  const model = new GeneratedChain({ seed, blockSeconds });
  model.extend(150);
  const all = [...lags];
  all.splice(place, 0, 0);
  const nodes = all.map((lag, index) =>
    Object.assign(new OddNode("abc"[index] ?? "", model), { lag }),
  );
  const world = followInMemory(nodes, { windowBlocks: 64 });
  const { follower, clock } = world;
  const boundMs = Math.max(3 * blockMs, LEAST_MS) + SLACK_MS;
  /** When most nodes had which newest number. */
  const seen: { at: number; number: number }[] = [];
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 250) {
      seen.push({ at: clock.now(), number: newestOf(nodes) });
      await world.pass(250);
      if (follower.whyStopped !== undefined) continue;
      const due = seen.findLast(({ at }) => at <= clock.now() - boundMs);
      if (!due) continue;
      expect(follower.isLive).toBe(true);
      expect(world.head()?.number).toBeGreaterThanOrEqual(due.number);
    }
    const shown = world.head();
    if (shown && follower.isLive) expect(model.byHash(shown.hash)?.number).toBe(shown.number);
  };
  try {
    await pass(boundMs);
    for (const { skipped, odd, of } of told) {
      await pass(skipped * blockMs);
      model.skip(skipped);
      const number = model.head.number + skipped + 1;
      const those = of === "all" ? nodes : [nodes.at(of === "first" ? 0 : -1) as OddNode];
      const earlier = those.map((node) => node.odd);
      for (const [index, node] of those.entries())
        if (odd) node.odd = (call) => UNUSABLE[odd]?.(number)(call) ?? earlier[index]?.(call);
      model.extend(1);
      await pass(blockMs);
    }
    // Above the odd blocks the chain is followed again.
    for (let block = 0; block < 8; block += 1) {
      model.extend(1);
      await pass(Math.max(blockMs, LEAST_MS));
    }
    // A leader may be a block behind another node.
    expect(world.head()?.number).toBeGreaterThanOrEqual(model.head.number - 1);
    expect([follower.isLive, follower.whyStopped]).toEqual([true, undefined]);
  } finally {
    const closing = follower.close();
    await world.pass(100);
    await closing;
  }
}

it("is followed or passed through within three block times, and followed again above what is odd", async () => {
  await fc.assert(fc.asyncProperty(story, tell), { numRuns: atDepth(12, 100) });
});
