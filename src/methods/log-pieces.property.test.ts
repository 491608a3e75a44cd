import fc from "fast-check";
import { expect, it } from "vitest";
import {
  askingNodes,
  failed,
  isWithin,
  type Log,
  type LogNode,
  refused,
  told,
  whole,
} from "../../test/support/scripted-log-nodes.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { LearnedRange } from "../upstream/learned-range.ts";
import { logsOfNodes } from "./log-pieces.ts";

const BLOCKS = 6_000;
const MOST_IN_BLOCK = 4;
const addresses = [
  "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
];

const logs = fc
  .array(
    fc.record({
      block: fc.integer({ min: 0, max: BLOCKS }),
      count: fc.integer({ min: 1, max: MOST_IN_BLOCK }),
      address: fc.constantFrom(...addresses),
    }),
    { maxLength: 200 },
  )
  .map((blocks): Log[] => {
    const byBlock = new Map(blocks.map((each) => [each.block, each]));
    return [...byBlock.values()]
      .sort((a, b) => a.block - b.block)
      .flatMap(({ block, count, address }) =>
        Array.from({ length: count }, (_, index) => ({
          address,
          blockNumber: `0x${block.toString(16)}`,
          data: `0x0${index}`,
        })),
      )
      .map(whole);
  });

const nodeOptions = fc.record({
  blocks: fc.integer({ min: 40, max: BLOCKS }),
  results: fc.integer({ min: MOST_IN_BLOCK, max: 500 }),
  /** After so many calls to all nodes, the node accepts `blocksLater` blocks in place of `blocks`. */
  changesAt: fc.integer({ min: 0, max: 40 }),
  blocksLater: fc.integer({ min: 40, max: BLOCKS }),
  saysHowMany: fc.boolean(),
  hints: fc.constantFrom("none", "message", "reversed", "as asked"),
  failsEvery: fc.integer({ min: 2, max: 30 }),
});
type NodeOptions = typeof nodeOptions extends fc.Arbitrary<infer Value> ? Value : never;

const nodeOf =
  (all: readonly Log[], options: NodeOptions): LogNode =>
  (question, call) => {
    const { from, to } = question;
    if (spread(call) % options.failsEvery === 0) return failed;
    const blocks = call < options.changesAt ? options.blocks : options.blocksLater;
    if (to - from + 1 > blocks)
      return refused(
        options.saysHowMany ? `exceed maximum block range: ${blocks}` : "block range is too wide",
      );
    const found = all.filter((log) => isWithin(log, question));
    const tooMany = found[options.results];
    if (!tooMany) return told(found);
    const last = Number(tooMany.blockNumber) - 1;
    const hex = (value: number) => `0x${value.toString(16)}`;
    const hint = {
      none: "",
      message: ` Try with this block range [${hex(from)}, ${hex(last)}].`,
      reversed: ` Try with this block range [${hex(last)}, ${hex(from)}].`,
      "as asked": ` Try with this block range [${hex(from)}, ${hex(to)}].`,
    }[options.hints];
    return refused(`query returned more than ${options.results} results.${hint}`);
  };

/** Calls in flight at the same time take turns: a node that failed every fourth one would fail the same piece again. */
const spread = (call: number): number => Math.imul(call, 0x9e3779b1) >>> 8;

it("is what one node without limits would answer, whatever limits there are and who fails", async () => {
  await fc.assert(
    fc.asyncProperty(
      logs,
      fc.array(nodeOptions, { minLength: 1, maxLength: 2 }),
      fc.integer({ min: 0, max: BLOCKS }),
      fc.integer({ min: 0, max: BLOCKS }),
      fc.record({
        results: fc.integer({ min: 1, max: 800 }),
        address: fc.constantFrom(...addresses, undefined),
      }),
      async (all, options, one, other, { results, address }) => {
        const range = { from: Math.min(one, other), to: Math.max(one, other) };
        const filter = address ? { address } : {};
        const nodes = options.map((each) => nodeOf(all, each));
        const { context, state, asked } = askingNodes(nodes, {
          results,
          ranges: new LearnedRange(10_000),
        });
        const want = all.filter((log) => isWithin(log, { ...range, ...filter }));
        const outcome = await logsOfNodes(range, filter, context).then(
          (found) => JSON.parse(found.logs.toString()),
          (error: unknown) => error,
        );
        expect(state.mostAtOnce).toBeLessThanOrEqual(4);
        const narrowest = Math.min(...options.flatMap((each) => [each.blocks, each.blocksLater]));
        const fewest = Math.min(...options.map((each) => each.results));
        const blocks = range.to - range.from + 1;
        // Each piece doubles its width after a reply, and halves it where there are too many logs.
        const bound =
          24 + (4 * blocks) / narrowest + (24 * want.length) / fewest + 4 * state.failures;
        expect(asked.length).toBeLessThanOrEqual(bound);
        if (outcome instanceof RpcError && outcome.status === 502) {
          // Three failures in a row; a query of one block ends with the first, since nothing can split it.
          expect(state.failures).toBeGreaterThanOrEqual(range.from === range.to ? 1 : 3);
          return;
        }
        if (want.length <= results || range.from === range.to) {
          expect(outcome).toEqual(want);
          return;
        }
        expect(outcome).toMatchObject({ code: -32005, data: { limit: results } });
        const last = Number((outcome as { data: { to: string } }).data.to);
        const next = Number(want[results]?.blockNumber);
        expect(last).toBe(Math.max(range.from, next - 1));
      },
    ),
    { numRuns: 300 },
  );
});

const RANGE_WORKS = { numRuns: 300 };

it("is bounded in what it asks, and the range that is proposed instead works", async () => {
  await fc.assert(
    fc.asyncProperty(
      logs,
      nodeOptions,
      fc.record({
        from: fc.integer({ min: 0, max: BLOCKS }),
        to: fc.integer({ min: 0, max: BLOCKS }),
        blocks: fc.integer({ min: 1, max: BLOCKS }),
        upstreamCalls: fc.integer({ min: 20, max: 200 }),
      }),
      async (all, options, { from, to, blocks, upstreamCalls }) => {
        const steady = { ...options, blocks, changesAt: 1_000_000, failsEvery: 1_000_000 };
        const node = nodeOf(all, steady);
        const ranges = new LearnedRange(10_000);
        const ask = async (wanted: { from: number; to: number }) => {
          const { context, state } = askingNodes([node], {
            results: 10_000,
            ranges,
            upstreamCalls,
          });
          const outcome = await logsOfNodes(wanted, {}, context).then(
            (found) => JSON.parse(found.logs.toString()),
            (error: unknown) => error,
          );
          expect(state.calls).toBeLessThanOrEqual(upstreamCalls);
          return outcome;
        };
        const range = { from: Math.min(from, to), to: Math.max(from, to) };
        let outcome = await ask(range);
        if (outcome instanceof RpcError) {
          const { data } = outcome as unknown as { data: { from: string; to: string } };
          expect(outcome).toMatchObject({ code: -32005, data: { rule: "upstreamCalls" } });
          range.to = Number(data.to);
          expect(Number(data.from)).toBe(range.from);
          outcome = await ask(range);
        }
        expect(outcome).toEqual(all.filter((log) => isWithin(log, range)));
      },
    ),
    RANGE_WORKS,
  );
});
