import { beforeEach, describe, expect, it } from "vitest";
import {
  askingNodes,
  isWithin,
  type LogNode,
  lacking,
  refused,
  told,
} from "../../test/support/scripted-log-nodes.ts";
import type { LogSegment } from "../chain/block-tables.ts";
import type { UpstreamLogs } from "../chain/kept-segments.ts";
import { LearnedRange } from "../upstream/learned-range.ts";
import { logsOfNodes } from "./log-pieces.ts";

/** The part of a followed chain that keeps logs, for which every block is final. */
class Keeping {
  readonly kept = new Map<string, Buffer>();
  /** The upstreams that gave the kept logs. */
  readonly upstreams: string[] = [];
  keptLogs(place: LogSegment): Buffer | undefined {
    return this.kept.get(nameOf(place));
  }
  async keepLogs(place: LogSegment, { json, upstreams }: UpstreamLogs): Promise<void> {
    this.kept.set(nameOf(place), json);
    this.upstreams.push(...upstreams);
  }
  get ranges(): string[] {
    return [...this.kept.keys()].map((name) => name.split(" ")[0] ?? "");
  }
}
const nameOf = ({ criteria, from, to }: LogSegment): string =>
  `${from}-${to} ${Buffer.from(criteria).toString("hex")}`;

const logAt = (block: number) => ({
  address: "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  blockNumber: `0x${block.toString(16)}`,
  data: "0x",
});
const logs = [10, 1_990, 2_000, 3_999, 4_000, 4_100].map(logAt);
const honest: LogNode = (question) => told(logs.filter((log) => isWithin(log, question)));
const nothing: LogNode = () => told([]);

let chain: Keeping;
beforeEach(() => {
  chain = new Keeping();
});

async function query(nodes: readonly LogNode[], from: number, to: number, filter = {}) {
  const { context, asked, state } = askingNodes(nodes, {
    results: 10_000,
    ranges: new LearnedRange(10_000),
  });
  const found = await logsOfNodes({ from, to }, filter, { ...context, chain });
  const blocks = (JSON.parse(found.logs.toString()) as { blockNumber: string }[]).map(
    ({ blockNumber }) => Number(blockNumber),
  );
  return { blocks, asked, calls: state.calls, isFresh: found.isFresh };
}

describe("what nodes told of a whole segment", () => {
  it("is kept, and not asked for again", async () => {
    const first = await query([honest], 1_000, 4_100);
    expect(first).toMatchObject({ blocks: [1_990, 2_000, 3_999, 4_000, 4_100], isFresh: true });
    expect(chain.ranges).toEqual(["2000-3999"]);
    const again = await query([honest], 1_500, 4_000);
    expect(again.asked).toEqual([
      { from: 1_500, to: 1_999 },
      { from: 4_000, to: 4_000 },
    ]);
    expect(again.blocks).toEqual([1_990, 2_000, 3_999, 4_000]);
  });

  it("is cut to what is asked for", async () => {
    await query([honest], 0, 3_999);
    expect(await query([honest], 2_001, 3_998)).toMatchObject({
      blocks: [],
      calls: 0,
      isFresh: false,
    });
    expect(await query([honest], 1_990, 2_000)).toMatchObject({ blocks: [1_990, 2_000], calls: 0 });
  });

  it("is another thing for another filter", async () => {
    await query([honest], 2_000, 3_999);
    expect(
      await query([honest], 2_000, 3_999, {
        address: "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
      }),
    ).toMatchObject({
      blocks: [],
      calls: 1,
    });
  });

  it("is kept as a whole when it came in parts", async () => {
    const narrow: LogNode = (question, call) =>
      question.to - question.from < 1_500
        ? honest(question, call)
        : refused("returned more than 1 results");
    await query([narrow], 2_000, 3_999);
    expect(chain.ranges).toEqual(["2000-3999"]);
    expect(await query([narrow], 2_000, 3_999)).toMatchObject({ blocks: [2_000, 3_999], calls: 0 });
  });

  it.each([
    ["is too large", () => told([{ ...logAt(3_000), data: "0x".padEnd(2 << 20, "0") }])],
    ["is null", () => ({ kind: "result", json: Buffer.from("null") })],
  ] as [string, LogNode][])("is not kept when it %s", async (_, node) => {
    await query([node], 2_000, 3_999);
    expect(chain.ranges).toEqual([]);
  });
});

describe("what cannot be the answer", () => {
  const FALSE: [string, LogNode][] = [
    ["of other blocks", () => told([logAt(1), logAt(3_000)])],
    ["no log", () => told([{ ...logAt(3_000), blockNumber: "?" }])],
    ["of another contract", () => told([{ ...logAt(3_000), address: `0x${"bb".repeat(20)}` }])],
    ["no list", () => ({ kind: "result", json: Buffer.from("{}") })],
  ];

  it.each(FALSE)("is neither passed on nor kept: it is %s", async (_, liar) => {
    const filter = { address: logAt(0).address };
    await expect(query([liar], 2_000, 3_999, filter)).rejects.toMatchObject({ status: 502 });
    expect(chain.ranges).toEqual([]);
  });

  it.each(FALSE)("is what the next node says instead: it is %s", async (_, liar) => {
    const filter = { address: logAt(0).address };
    const found = await query([liar, honest], 2_000, 3_999, filter);
    expect(found.blocks).toEqual([2_000, 3_999]);
    expect(chain.upstreams).toEqual(["node 1"]);
  });
});

describe("what is out of order", () => {
  const odd: LogNode = () => told([logAt(3_999), logAt(2_000)]);

  it("is put in order, and kept", async () => {
    expect((await query([odd], 2_000, 3_999)).blocks).toEqual([2_000, 3_999]);
    expect(await query([odd], 2_500, 3_999)).toMatchObject({ blocks: [3_999], calls: 0 });
  });

  it("is what the next node says instead, where that is in order", async () => {
    expect(await query([odd, honest, honest], 2_000, 3_999)).toMatchObject({
      ...{ blocks: [2_000, 3_999], calls: 2 },
    });
    expect(chain.upstreams).toEqual(["node 1"]);
  });

  it("is asked of two nodes at most", async () => {
    expect(await query([odd, odd, odd, odd], 2_000, 3_999)).toMatchObject({
      ...{ blocks: [2_000, 3_999], calls: 2 },
    });
  });
});

describe("that nothing is there", () => {
  it("is kept when a second node finds nothing either", async () => {
    expect(await query([nothing, nothing], 2_000, 3_999)).toMatchObject({ blocks: [], calls: 2 });
    expect(chain.ranges).toEqual(["2000-3999"]);
    expect(await query([nothing, nothing], 2_500, 3_000)).toMatchObject({ blocks: [], calls: 0 });
  });

  it("is not kept when there is only one to say so", async () => {
    await query([nothing], 2_000, 3_999);
    await query([nothing, () => refused("block range is too wide")], 2_000, 3_999);
    expect(chain.ranges).toEqual([]);
  });

  it("is not believed when the second node finds something", async () => {
    expect((await query([nothing, honest], 2_000, 3_999)).blocks).toEqual([2_000, 3_999]);
    expect(chain.ranges).toEqual(["2000-3999"]);
  });

  it("is asked of one node where it would not be kept", async () => {
    expect((await query([nothing, honest], 2_000, 2_999)).calls).toBe(1);
  });

  it("is the answer after a node that takes no such range", async () => {
    const narrow = () => refused("block range is too wide");
    expect(await query([narrow, nothing], 2_000, 3_999)).toMatchObject({ blocks: [], calls: 2 });
    expect(chain.ranges).toEqual([]);
    await query([narrow, nothing, nothing], 2_000, 3_999);
    expect(chain.ranges).toEqual(["2000-3999"]);
  });

  it("is the answer beside a node that has dropped the history", async () => {
    const dropped = () => lacking("history");
    for (const nodes of [
      [dropped, nothing],
      [nothing, dropped],
    ])
      expect(await query(nodes, 2_000, 3_999)).toMatchObject({ blocks: [], calls: 2 });
  });
});

it("keeps nothing beside a node that has dropped the history", async () => {
  const pruned = () => lacking("history");
  expect((await query([pruned, honest], 2_000, 3_999)).blocks).toEqual([2_000, 3_999]);
  await query([nothing, pruned, nothing], 2_000, 3_999);
  expect(chain.ranges).toEqual([]);
});

describe("nodes that may have dropped old logs", () => {
  const shown = (reach: "has" | "lacks" | "unknown", node: LogNode): LogNode =>
    Object.assign((...given: Parameters<LogNode>) => node(...given), { reach });
  const found = [10, 1_990];

  it.each([
    { nodes: ["pruned", "full"], calls: 2, blocks: found },
    { nodes: ["full", "pruned"], calls: 1, blocks: found },
    { nodes: ["pruned", "pruned", "full"], calls: 3, blocks: found },
    { nodes: ["pruned", "full", "pruned"], calls: 2, blocks: found },
    { nodes: ["lacking", "lacking", "lacking", "full"], calls: 4, blocks: found },
    { nodes: ["part", "full"], calls: 2, blocks: found },
    { nodes: ["part", "pruned"], calls: 2, blocks: [1_990] },
    { nodes: ["pruned", "part"], calls: 2, blocks: [1_990] },
    { nodes: ["pruned"], calls: 1, blocks: [] },
    { nodes: ["lacking"], calls: 1, blocks: [] },
    { nodes: ["pruned", "pruned", "pruned", "pruned"], calls: 3, blocks: [] },
    { nodes: ["archive", "full"], calls: 1, blocks: [] },
  ])("are not believed while another may know: $nodes", async ({ nodes, calls, blocks }) => {
    const byName: Readonly<Record<string, LogNode>> = {
      pruned: shown("unknown", nothing),
      lacking: shown("lacks", nothing),
      part: shown("lacks", () => told([logAt(1_990)])),
      full: shown("unknown", honest),
      archive: shown("has", nothing),
    };
    const asked = nodes.map((name) => byName[name] as LogNode);
    const { context, state } = askingNodes(asked, {
      ...{ results: 10_000, ranges: new LearnedRange(10_000) },
    });
    // The range is no segment, which would ask a second node anyway.
    const { logs: given } = await logsOfNodes({ from: 10, to: 1_999 }, {}, { ...context, chain });
    const numbers = (JSON.parse(given.toString()) as { blockNumber: string }[]).map(
      ({ blockNumber }) => Number(blockNumber),
    );
    expect({ numbers, calls: state.calls }).toEqual({ numbers: blocks, calls });
  });
});
