import { describe, expect, it } from "vitest";
import {
  askingNodes,
  failed,
  isWithin,
  type LogNode,
  lacking,
  refused,
  told,
} from "../../test/support/scripted-log-nodes.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { LearnedRange } from "../upstream/learned-range.ts";
import { logsOfNodes } from "./log-pieces.ts";

const hex = (value: number): string => `0x${value.toString(16)}`;
const logAt = (block: number) => ({
  address: "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  blockNumber: hex(block),
  data: "0x",
});
/** One log in every tenth block. */
const chain = Array.from({ length: 1_000 }, (_, index) => logAt(index * 10));
const whole: LogNode = (question) => told(chain.filter((log) => isWithin(log, question)));
const upTo =
  (blocks: number, words = `exceed maximum block range: ${blocks}`): LogNode =>
  (question, call) =>
    question.to - question.from < blocks ? whole(question, call) : refused(words);

const nodesOf = (nodes: readonly LogNode[], results = 10_000) =>
  askingNodes(nodes, { results, ranges: new LearnedRange(10_000) });
const blocksOf = async (range: { from: number; to: number }, asking: Asking): Promise<number[]> => {
  const { logs } = await logsOfNodes(range, {}, asking.context);
  return (JSON.parse(logs.toString()) as { blockNumber: string }[]).map(({ blockNumber }) =>
    Number(blockNumber),
  );
};
type Asking = ReturnType<typeof askingNodes>;
const tens = (from: number, to: number): number[] =>
  Array.from({ length: (to - from) / 10 + 1 }, (_, index) => from + index * 10);

describe("the pieces of a query", () => {
  it("end at multiples of their width, whoever asks", async () => {
    const asking = nodesOf([whole]);
    expect(await blocksOf({ from: 1_990, to: 6_010 }, asking)).toEqual(tens(1_990, 6_010));
    expect(asking.asked).toEqual([
      { from: 1_990, to: 1_999 },
      { from: 2_000, to: 3_999 },
      { from: 4_000, to: 5_999 },
      { from: 6_000, to: 6_010 },
    ]);
  });

  it("are one where one is enough", async () => {
    const asking = nodesOf([whole]);
    expect(await blocksOf({ from: 1_990, to: 3_989 }, asking)).toHaveLength(200);
    expect(asking.asked).toEqual([{ from: 1_990, to: 3_989 }]);
  });

  it("are as wide as the nodes said before", async () => {
    const asking = nodesOf([upTo(500)]);
    await blocksOf({ from: 0, to: 1_999 }, asking);
    expect(asking.asked.slice(0, 2)).toEqual([
      { from: 0, to: 1_999 },
      { from: 0, to: 499 },
    ]);
    asking.asked.length = 0;
    expect(await blocksOf({ from: 100, to: 1_500 }, asking)).toEqual(tens(100, 1_500));
    expect(asking.asked.map(({ from }) => from)).toEqual([100, 500, 1_000, 1_500]);
  });

  it("are learned to be narrower by halves where the node does not say how wide", async () => {
    const asking = nodesOf([upTo(600, "block range is too wide")]);
    expect(await blocksOf({ from: 0, to: 9_990 }, asking)).toEqual(tens(0, 9_990));
    expect(asking.context.ranges.width).toBe(500);
  });

  it("are not held beyond four, however quick the later ones are", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const asking = nodesOf([whole]);
    const { ask } = asking.context;
    const waiting: typeof ask = async (method, paramsJson, options) => {
      if (paramsJson.includes('"fromBlock":"0x0"')) await promise;
      return ask(method, paramsJson, options);
    };
    const all = logsOfNodes({ from: 0, to: 9_990 }, {}, { ...asking.context, ask: waiting });
    await new Promise((done) => setImmediate(done));
    expect(asking.asked.map(({ from }) => from)).toEqual([2_000, 4_000, 6_000]);
    resolve();
    expect(JSON.parse((await all).logs.toString())).toMatchObject(chain);
  });

  it("are not asked for any more when the caller has left", async () => {
    const caller = new AbortController();
    const asking = nodesOf([upTo(10)]);
    const ask: typeof asking.context.ask = async (...question) => {
      if (asking.asked.length === 20) caller.abort();
      if (caller.signal.aborted) throw errors.upstreamTimeout();
      return asking.context.ask(...question);
    };
    const context = { ...asking.context, ask, signal: caller.signal };
    await expect(logsOfNodes({ from: 0, to: 9_990 }, {}, context)).rejects.toMatchObject({
      status: 504,
    });
    await new Promise((done) => setImmediate(done));
    expect(asking.asked).toHaveLength(20);
  });
});

describe("a node with too many results", () => {
  it("is asked for the range that it proposes, and then for the rest", async () => {
    const proposing: LogNode = ({ from, to }) =>
      to - from < 700
        ? whole({ from, to }, 0)
        : refused(
            `query returned more than 70 results. Try with this block range [${hex(from)}, ${hex(from + 699)}].`,
          );
    const asking = nodesOf([proposing]);
    expect(await blocksOf({ from: 0, to: 1_999 }, asking)).toEqual(tens(0, 1_990));
    expect(asking.asked.map(({ from, to }) => [from, to])).toEqual([
      [0, 1_999],
      [0, 699],
      [700, 1_999],
      [700, 1_399],
      [1_400, 1_999],
    ]);
    expect(asking.context.ranges.width).toBe(10_000); // a limit on results is about this query alone
  });

  it("of one block has its refusal passed on when nobody takes it", async () => {
    const never = refused("query returned more than 1 results");
    const one = nodesOf([() => never, () => refused("response is too big")]);
    await expect(blocksOf({ from: 7, to: 7 }, one)).rejects.toMatchObject({
      code: -32005,
      message: "query returned more than 1 results",
      json: expect.stringContaining("more than 1"),
    });
    expect(one.state.calls).toBe(2);
    const within = nodesOf([
      (question) => (question.from <= 5 && question.to >= 5 ? never : whole(question, 0)),
    ]);
    await expect(blocksOf({ from: 0, to: 9 }, within)).rejects.toMatchObject({
      message: "query returned more than 1 results",
    });
  });
});

describe("several nodes", () => {
  it("need no narrower pieces while one of them takes these", async () => {
    const asking = nodesOf([upTo(10), whole]);
    expect(await blocksOf({ from: 0, to: 3_999 }, asking)).toHaveLength(400);
    expect(asking.state.calls).toBe(4);
    expect(asking.context.ranges.width).toBe(10_000);
  });

  it("are asked as wide as the one that takes the most", async () => {
    const asking = nodesOf([upTo(10), upTo(1_000)]);
    expect(await blocksOf({ from: 0, to: 1_999 }, asking)).toHaveLength(200);
    expect(asking.context.ranges.width).toBe(1_000);
    expect(asking.asked).toHaveLength(3);
  });

  it.each([
    lacking("history"),
    lacking("block"),
    refused("exceed max addresses or topics per search position", -32000),
  ])("may have what one has not: $message", async (reply) => {
    const asking = nodesOf([() => reply, whole]);
    expect(await blocksOf({ from: 0, to: 100 }, asking)).toEqual(tens(0, 100));
  });

  it("are believed in what is no matter of size", async () => {
    const asking = nodesOf([() => refused("invalid params", -32602), whole]);
    await expect(blocksOf({ from: 0, to: 100 }, asking)).rejects.toMatchObject({ code: -32602 });
    expect(asking.state.calls).toBe(1);
  });
});

describe("a refusal in unknown words", () => {
  it("of a wide range is tried at half of it", async () => {
    const asking = nodesOf([upTo(1_000, "the flux is empty")]);
    expect(await blocksOf({ from: 0, to: 1_999 }, asking)).toEqual(tens(0, 1_990));
    expect(asking.asked).toEqual([
      { from: 0, to: 1_999 },
      { from: 0, to: 999 },
      { from: 1_000, to: 1_999 },
    ]);
  });

  it("is believed where half is refused, too", async () => {
    const asking = nodesOf([() => refused("the flux is empty")]);
    const refusal = { code: -32005, message: "the flux is empty" };
    await expect(blocksOf({ from: 0, to: 1_999 }, asking)).rejects.toMatchObject(refusal);
    expect(asking.asked).toHaveLength(2);
  });

  it("is believed of a few blocks", async () => {
    const asking = nodesOf([upTo(1, "the flux is empty")]);
    await expect(blocksOf({ from: 0, to: 7 }, asking)).rejects.toMatchObject({ code: -32005 });
    expect(asking.asked).toHaveLength(1);
  });
});

describe("a query with more addresses than the nodes take", () => {
  const addresses = Array.from({ length: 7 }, (_, each) => `0x${String(each).repeat(40)}`);
  const logs = Array.from({ length: 300 }, (_, index) => ({
    ...logAt(Math.floor(index / 3)),
    address: addresses[index % 7] as string,
    logIndex: hex(index % 3),
    data: hex(0x1000 + index),
  }));
  const taking =
    (most: number, words: string): LogNode =>
    (question) => {
      const { address = [] } = question;
      if (address.length > most && Array.isArray(address)) return refused(words);
      return told(logs.filter((log) => isWithin(log, question)));
    };
  const found = async (node: LogNode, upstreamCalls = 200) => {
    const ranges = new LearnedRange(50);
    const asking = askingNodes([node], { results: 10_000, ranges, upstreamCalls });
    const answer = await logsOfNodes({ from: 0, to: 99 }, { address: addresses }, asking.context);
    const data = (JSON.parse(answer.logs.toString()) as { data: string }[]).map((log) => log.data);
    return { data, asking };
  };

  it.each([
    ["Please specify less number of addresses. (max 2)", 2],
    ["Please, specify less number of addresses", 2],
    ["exceed maximum number of addresses: 1", 1],
    ["too many addresses", 1],
  ])("is split after %s, and its logs come in the order of the chain", async (words, most) => {
    const { data } = await found(taking(most, words));
    expect(data).toEqual(logs.map((log) => log.data));
  });

  it("is asked in parts from then on", async () => {
    const { asking } = await found(taking(4, "specify less number of addresses (max 4)"));
    expect(asking.asked.length).toBeLessThanOrEqual(6);
  });

  it("has its refusal passed on where one address is too many", async () => {
    const refusing = found(() => refused("specify less number of addresses"));
    await expect(refusing).rejects.toMatchObject({ code: -32005 });
  });

  it("makes no more calls to nodes than it may", async () => {
    const refusing = found(taking(1, "too many addresses"), 5);
    await expect(refusing).rejects.toMatchObject({ data: { rule: "upstreamCalls" } });
  });

  it("has each part checked against its own addresses", async () => {
    const node: LogNode = (question) =>
      (question.address?.length ?? 0) > 4
        ? refused("too many addresses")
        : told(logs.filter((log) => isWithin({ ...log, address: addresses[0] ?? "" }, question)));
    await expect(found(node)).rejects.toMatchObject({ status: 502 });
  });
});

describe("a failure of all nodes", () => {
  it("is met with narrower pieces, twice", async () => {
    const slow: LogNode = ({ from, to }) => (to - from < 500 ? whole({ from, to }, 0) : failed);
    const asking = nodesOf([slow]);
    expect(await blocksOf({ from: 0, to: 1_999 }, asking)).toHaveLength(200);
    const down = nodesOf([() => failed]);
    await expect(blocksOf({ from: 0, to: 1_999 }, down)).rejects.toMatchObject({ status: 502 });
    expect(down.asked).toHaveLength(3);
  });

  it("is told at once where there is only one block", async () => {
    const down = nodesOf([() => failed]);
    await expect(blocksOf({ from: 1, to: 1 }, down)).rejects.toMatchObject({ status: 502 });
    expect(down.asked).toHaveLength(1);
  });
});

describe("a query that needs more calls to nodes than a call may make", () => {
  const bounded = (node: LogNode, upstreamCalls: number, ranges = new LearnedRange(10_000)) =>
    askingNodes([node], { results: 10_000, ranges, upstreamCalls });
  type Proposal = { data: { from: string; to: string; limit: number } };
  const refusalOf = async (asking: Asking, range = { from: 10, to: 9_990 }): Promise<Proposal> =>
    logsOfNodes(range, {}, asking.context).then(
      () => expect.fail("it was answered"),
      (error) => error,
    );

  it("is refused as soon as the nodes say how little they take, with a range that works", async () => {
    const ranges = new LearnedRange(10_000);
    const asking = bounded(upTo(1), 200, ranges);
    const refusal = await refusalOf(asking);
    expect(refusal).toMatchObject({
      code: -32005,
      message: "query needs more than 200 calls to nodes. Try with this block range [0xa, 0x9f].",
      data: { rule: "upstreamCalls", from: "0xa", to: "0x9f", limit: 200 },
    });
    expect(asking.state.calls).toBeLessThanOrEqual(8);
    const again = bounded(upTo(1), 200, ranges);
    const proposed = { from: Number(refusal.data.from), to: Number(refusal.data.to) };
    expect(await blocksOf(proposed, again)).toEqual(tens(10, 150));
  });

  it("is refused in the middle where only what is found is too much, with a range that works", async () => {
    const dense: LogNode = (question) =>
      question.to - question.from < 3 ? whole(question, 0) : refused("response is too big");
    const asking = bounded(dense, 50);
    const refusal = await refusalOf(asking);
    expect(asking.state.calls).toBe(50);
    const proposed = { from: Number(refusal.data.from), to: Number(refusal.data.to) };
    expect(proposed.to).toBeGreaterThan(proposed.from);
    const again = await blocksOf(proposed, bounded(dense, 50));
    expect(again).toEqual(tens(10, Math.floor(proposed.to / 10) * 10));
  });

  it("is answered as far as it is kept", async () => {
    const keptFrom = 2_000;
    const { context, state } = bounded(upTo(100), 25, new LearnedRange(100));
    const none = Buffer.from("[]");
    const store = {
      keptLogs: ({ from }: { from: number }) => (from >= keptFrom ? none : undefined),
      keepLogs: async () => undefined,
    };
    await logsOfNodes({ from: 0, to: 9_999 }, {}, { ...context, chain: store });
    expect(state.calls).toBe(20);
  });
});

it("does not take for too many what only looks like logs", async () => {
  const odd: LogNode = () => ({
    kind: "result",
    json: Buffer.from('[{"blockNumber":"0x1","blockNumber":"0x1","blockNumber":"0x1"}]'),
  });
  await expect(blocksOf({ from: 0, to: 9 }, nodesOf([odd], 2))).rejects.toMatchObject({
    status: 502,
  });
});

it("takes null for none, and nothing else for logs", async () => {
  const says = (json: string): LogNode[] => [() => ({ kind: "result", json: Buffer.from(json) })];
  expect(await blocksOf({ from: 0, to: 9 }, nodesOf(says("null")))).toEqual([]);
  const odd = nodesOf(says('{"blockNumber":"0x1"}'));
  await expect(blocksOf({ from: 0, to: 9 }, odd)).rejects.toMatchObject({ status: 502 });
});
