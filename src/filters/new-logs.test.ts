import fc from "fast-check";
import { expect, it } from "vitest";
import type { ChainView } from "../chain/chain-view.ts";
import { hashTerm, type LogFilter, matcherOf } from "../evm/log-filter.ts";
import { NewLogs } from "./new-logs.ts";

type Block = {
  readonly number: number;
  readonly hash: string;
  readonly parent: string;
  readonly logs: readonly Log[];
};
type Log = { readonly address: string; readonly topics: readonly string[] };

const address = (of: number): string => `0x${of.toString(16).padStart(40, "0")}`;
const topic = (of: number): string => `0x${of.toString(16).padStart(64, "0")}`;

/** A view of a chain of these blocks; the last block is the head. */
const viewOf = (blocks: readonly Block[]): ChainView => {
  const view = {
    head: blocks.at(-1),
    blockAt: (number: number) => {
      const block = blocks.find((each) => each.number === number);
      return block && { ...block, outline: { parentHash: block.parent } };
    },
    addLogTerms: ({ logs }: Block, terms: Set<number>) => {
      for (const log of logs) {
        terms.add(hashTerm(log.address, 0));
        for (const [index, value] of log.topics.entries())
          terms.add(hashTerm(value, (index + 1) as never));
      }
    },
  };
  return view as unknown as ChainView;
};

const chainOf = (logs: readonly (readonly Log[])[], branch = ""): Block[] =>
  logs.map((each, number) => ({
    ...{ number, logs: each, hash: `${branch}${number}`, parent: `${branch}${number - 1}` },
  }));

const log = fc.record({
  address: fc.integer({ min: 1, max: 4 }).map(address),
  topics: fc.array(fc.integer({ min: 1, max: 3 }).map(topic), { maxLength: 2 }),
});

it("passes over no subscription that has something to tell", () => {
  const wanted = fc.record({
    address: fc.option(fc.integer({ min: 1, max: 4 }).map(address), { nil: undefined }),
    topics: fc.option(
      fc.array(fc.option(fc.integer({ min: 1, max: 3 }).map(topic)), { maxLength: 2 }),
      { nil: undefined },
    ),
  });
  fc.assert(
    fc.property(
      fc.array(fc.array(log, { maxLength: 3 }), { minLength: 2, maxLength: 5 }),
      wanted,
      (logs, filter) => {
        const chain = chainOf(logs);
        let seen = chain.slice(0, 1);
        const newLogs = new NewLogs({ view: () => viewOf(seen) });
        newLogs.look();
        seen = chain;
        newLogs.look();
        const matches = logs
          .slice(1)
          .flat()
          .some(
            (each) =>
              (filter.address === undefined || each.address === filter.address) &&
              (filter.topics ?? []).every(
                (value, index) => value === null || each.topics[index] === value,
              ),
          );
        if (matches) expect(newLogs.mayMatch(matcherOf(filter as LogFilter))).toBe(true);
      },
    ),
  );
});

it("passes over those that ask for other terms, unless blocks were dropped", () => {
  const other = matcherOf({ address: address(9) });
  const chain = chainOf([[], [{ address: address(1), topics: [] }]]);
  let seen = chain.slice(0, 1);
  const newLogs = new NewLogs({ view: () => viewOf(seen) });
  newLogs.look();
  expect(newLogs.mayMatch(other)).toBe(true); // the blocks before the first look are unknown
  seen = chain;
  newLogs.look();
  expect(newLogs.mayMatch(other)).toBe(false);
  expect(newLogs.mayMatch("nothing")).toBe(false);
  seen = chainOf([[], [], []], "b");
  newLogs.look();
  expect(newLogs.mayMatch(other)).toBe(true);
});
