import { describe, expect, it } from "vitest";
import { matcherOf } from "../evm/log-filter.ts";
import { atOnce } from "../lib/turns.ts";
import { BlockBloom, bloomTestOf } from "./bloom.ts";

const address = (byte: string): string => `0x${byte.repeat(20)}`;
const topic = (byte: string): string => `0x${byte.repeat(32)}`;

const bloom = new BlockBloom();
atOnce(
  bloom.add([
    { address: address("aa"), topics: [topic("11"), topic("22")] },
    { address: address("bb"), topics: [] },
  ]),
);
const NOTHING = `0x${"00".repeat(256)}`;

describe("a bloom", () => {
  it.each([
    { filter: {}, may: true },
    { filter: { address: address("aa") }, may: true },
    { filter: { address: address("AA") }, may: true },
    { filter: { address: address("cc") }, may: false },
    { filter: { address: [address("cc"), address("bb")] }, may: true },
    { filter: { topics: [null, topic("22")] }, may: true },
    { filter: { topics: [[topic("33"), topic("11")]] }, may: true },
    { filter: { address: address("aa"), topics: [topic("33")] }, may: false },
    // The address and the topic are of different logs, which a bloom does not show.
    { filter: { address: address("bb"), topics: [topic("11")] }, may: true },
  ])("says of $filter: $may", ({ filter, may }) => {
    expect(bloomTestOf(matcherOf(filter))(bloom.ofBlock())).toBe(may);
  });

  it("of no logs has none that match anything", () => {
    expect(bloomTestOf(matcherOf({}))(NOTHING)).toBe(false);
  });

  it("is the same however many other logs came before", () => {
    const log = { address: address("aa"), topics: [topic("11")] };
    const before = atOnce(new BlockBloom().add([log]));
    const topics = Array.from(
      { length: 20_000 },
      (_, index) => `${topic("00").slice(0, -8)}${10_000_000 + index}`,
    );
    atOnce(
      new BlockBloom().add(topics.map((each) => ({ address: address("bb"), topics: [each] }))),
    );
    expect(atOnce(new BlockBloom().add([log]))).toBe(before);
    expect(before).toBe(atOnce(new BlockBloom().add([log, { ...log, topics: [] }])));
  });

  it("is that of its texts, whatever digits they share with others that came before", () => {
    // Texts with the same last digits share one slot in the cache.
    const alike = ["11", "22", "33"].map((byte) => `0x${byte.repeat(20)}${"ab".repeat(12)}`);
    const of = (topics: readonly string[]): string => atOnce(new BlockBloom().add([{ topics }]));
    const alone = alike.map((each) => of([each]));
    expect(new Set(alone).size).toBe(alike.length);
    expect(alike.map((each) => of([each]))).toEqual(alone);
    for (const each of alike) {
      const others = alike.filter((other) => other !== each);
      expect(of([...others, each])).toBe(of([each, ...others]));
    }
  });
});
