// What a key narrows of a network's facts.
import { describe, expect, it } from "vitest";
import { type Caller, factsFor } from "./caller.ts";

const callerWith = (
  own: { logBlocks?: number; upstreamCalls?: number },
  networkBlocks: number | undefined,
) => {
  const limits = { upstreamCalls: 200, logs: { blocks: networkBlocks, results: 9 } };
  const facts = { name: "main", limits };
  return { facts, caller: { grant: { scope: own }, network: { facts } } as unknown as Caller };
};

describe("the facts of a network for a key", () => {
  it.each([
    { what: "has no limits of its own", own: {}, networkBlocks: 100 },
    {
      what: "may ask for more blocks than the network lets",
      own: { logBlocks: 500 },
      networkBlocks: 100,
    },
    {
      what: "has the network's own limits",
      own: { logBlocks: 100, upstreamCalls: 200 },
      networkBlocks: 100,
    },
  ])("that $what are the network's, and no copy", ({ own, networkBlocks }) => {
    const { facts, caller } = callerWith(own, networkBlocks);
    expect(factsFor(caller)).toBe(facts);
  });

  it.each([
    { networkBlocks: 100, what: "fewer blocks" },
    { networkBlocks: undefined, what: "blocks where the network has no limit" },
  ])("that is let ask for $what say that the key's rule is it", ({ networkBlocks }) => {
    const { limits } = factsFor(callerWith({ logBlocks: 50 }, networkBlocks).caller);
    expect(limits.logs).toMatchObject({ blocks: 50, results: 9, rule: "logs" });
    expect(limits.upstreamCalls).toBe(200);
  });

  it("that may ask nodes less, or more, often", () => {
    for (const upstreamCalls of [3, 900]) {
      const { limits } = factsFor(callerWith({ upstreamCalls }, 100).caller);
      expect(limits).toMatchObject({ upstreamCalls, logs: { blocks: 100 } });
      expect(limits.logs).not.toHaveProperty("rule");
    }
  });
});
