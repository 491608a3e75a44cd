import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conditionsOf, logFilter, scopeOf } from "./log-filter.ts";

const topic = `0x${"ab".repeat(32)}`;
const address = `0x${"cd".repeat(20)}`;

describe("a log filter", () => {
  it.each([
    {},
    { fromBlock: "0x1", toBlock: "latest" },
    { fromBlock: null, toBlock: null, address: null, topics: null, blockHash: null },
    { address },
    { address: [] },
    { address: Array(1000).fill(address) },
    { topics: [] },
    { topics: [topic, null, [topic, topic], []] },
    { topics: [Array(1000).fill(topic)] },
    { topics: [[null, topic]] },
    { blockHash: topic, somethingNew: 1 },
  ])("may be %j", (filter) => {
    expect(logFilter.safeParse(filter).success).toBe(true);
  });

  it.each([
    "latest",
    [],
    { fromBlock: 1 },
    { fromBlock: "0x01" },
    { address: "0x1" },
    { address: [address, topic] },
    { address: Array(1001).fill(address) },
    { topics: topic },
    { topics: [null, null, null, null, null] },
    { topics: ["0x12"] },
    { topics: [[[topic]]] },
    { topics: [Array(1001).fill(topic)] },
    { blockHash: address },
  ])("may not be %j", (filter) => {
    expect(logFilter.safeParse(filter).success).toBe(false);
  });

  it("has a range, of the latest block when it says nothing, or one block", () => {
    expect(scopeOf({})).toEqual({ kind: "range", from: "latest", to: "latest" });
    expect(scopeOf({ fromBlock: "0x5", toBlock: null })).toMatchObject({ from: "0x5" });
    expect(scopeOf({ blockHash: topic, fromBlock: null })).toMatchObject({ kind: "block" });
    expect(() => scopeOf({ blockHash: topic, toBlock: "latest" })).toThrow(
      "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
    );
  });

  it("is passed on without nulls and without what is unknown", () => {
    const optional = fc.option(fc.constant(address));
    fc.assert(
      fc.property(optional, fc.option(fc.array(fc.constant(topic))), (contract, topics) => {
        const conditions = conditionsOf({ address: contract, topics, other: 1 });
        expect(Object.values(conditions)).not.toContain(null);
        expect(Object.keys(conditions)).toHaveLength((contract ? 1 : 0) + (topics ? 1 : 0));
      }),
    );
  });

  it("is judged, whatever JSON it is", () => {
    fc.assert(
      fc.property(
        fc.record(
          { address: fc.jsonValue(), topics: fc.jsonValue(), fromBlock: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        (filter) => {
          const checked = logFilter.safeParse(filter);
          if (!checked.success) expect(checked.error.issues[0]?.message).toBeTruthy();
        },
      ),
    );
  });
});
