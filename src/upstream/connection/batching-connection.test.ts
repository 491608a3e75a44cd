import { describe, expect, it } from "vitest";
import { countedSignal } from "../../../test/support/counted-signal.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { BatchSizes } from "../capabilities/batch-sizes.ts";
import { requestJson } from "../reply.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { BodyReader, Exchange, NodeRequest, SharedTurn } from "./connection.ts";

const never = new AbortController().signal;
const call = (id: number, turn?: SharedTurn) => ({ id, json: requestJson(id, "m", "[]"), turn });
const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":${id * 10}}`;
const answered = (text: string, status = 200): Exchange => ({
  kind: "answered",
  status,
  body: Buffer.from(text),
});
const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? `${exchange.status} ${exchange.body}` : exchange.kind;

type Sent = { ids: number | number[]; signal: AbortSignal };

/** The answer of a node that takes batches. */
const willing = ({ ids }: Sent): Exchange =>
  answered(typeof ids === "number" ? result(ids) : `[${ids.map(result).join(",")}]`);

/** A batching connection over one that replies with `answer`; `sent` has its requests: an id, or the ids of a batch. */
function batching(answer: (sent: Sent) => Exchange | Promise<Exchange> = willing, configured = 10) {
  return over(answer, configured);
}

/** As `batching`, but the connection learns the batch size. */
const learning = (answer: (sent: Sent) => Exchange | Promise<Exchange> = willing) =>
  over(answer, undefined);

function over(
  answer: (sent: Sent) => Exchange | Promise<Exchange>,
  configured: number | undefined,
) {
  const sent: Sent["ids"][] = [];
  const limits: number[] = [];
  const clock = new FakeClock();
  const send = async ({ json }: { json: string }, signal: AbortSignal): Promise<Exchange> => {
    const request = JSON.parse(json) as { id: number } | { id: number }[];
    const ids = Array.isArray(request) ? request.map(({ id }) => id) : request.id;
    sent.push(ids);
    return answer({ ids, signal });
  };
  const onLimited = (size: number): unknown => limits.push(size);
  const sizes = new BatchSizes({ configured }, { clock, onLimited });
  const parts = { connection: { send, close: async () => undefined }, clock, sizes };
  const connection = new BatchingConnection(parts);
  /** Begins calls in turns of the largest size that is allowed now; `signals` has the signals of the calls, if any. */
  const begin = (ids: readonly number[], signals: readonly AbortSignal[] = []) => {
    const group = sizes.groupOf({ isBatchable: true, workKind: "state" }) ?? "other";
    let turn: SharedTurn = { group, calls: 0, room: 0 };
    const requests = ids.map((id) => {
      if (turn.room === 0) turn = { group, calls: 0, room: sizes.take(group) };
      turn.calls += 1;
      turn.room -= 1;
      return call(id, turn);
    });
    return requests.map((request, index) => connection.send(request, signals[index] ?? never));
  };
  const ask = (ids: readonly number[]): Promise<string[]> =>
    Promise.all(begin(ids).map((exchange) => exchange.then(textOf)));
  return { connection, clock, sizes, sent, limits, begin, ask };
}

const all = (ids: readonly number[]): string[] => ids.map((id) => `200 ${result(id)}`);

it.each([
  [[true, true], true],
  [[true, false], false],
  [[true, undefined], false],
])("calls of which %o may be repeated are a request that may be: %s", async (each, want) => {
  const sent: NodeRequest[] = [];
  const clock = new FakeClock();
  const sizes = new BatchSizes({ configured: 10 }, { clock, onLimited: () => undefined });
  const send = async (request: NodeRequest): Promise<Exchange> => {
    sent.push(request);
    return answered(`[${result(0)},${result(1)}]`);
  };
  const connection = new BatchingConnection({
    connection: { send: send as never, close: async () => undefined },
    ...{ clock, sizes },
  });
  const turn: SharedTurn = { group: "state", calls: 2, room: 0 };
  await Promise.all(
    each.map((isRepeatable, id) => connection.send({ ...call(id, turn), isRepeatable }, never)),
  );
  expect(sent.map(({ isRepeatable }) => isRepeatable)).toEqual([want]);
});

describe("calls of one turn", () => {
  it("are asked each by itself where the answers are of other ids: a neighbour's is nobody's", async () => {
    const shifted = ({ ids }: Sent): Exchange =>
      answered(
        typeof ids === "number"
          ? result(ids)
          : `[${ids.map((id) => `{"jsonrpc":"2.0","id":${id + 1},"result":${id * 10}}`)}]`,
      );
    const { ask, sent } = batching(shifted);
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(sent).toEqual([[1, 2, 3], 1, 2, 3]);
  });

  it("are one request, and each gets its own answer", async () => {
    const { ask, sent } = batching();
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(await ask([4, 5])).toEqual(all([4, 5]));
    expect(sent).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it("are as many requests as make none too long", async () => {
    const { ask, sent } = batching(willing, 2);
    expect(await ask([1, 2, 3, 4, 5])).toEqual(all([1, 2, 3, 4, 5]));
    expect(sent).toEqual([[1, 2], [3, 4], 5]);
  });

  it("may be one: it goes alone, as an object, in this turn", async () => {
    const { ask, sent } = batching();
    const asked = ask([1]);
    await new Promise(setImmediate);
    expect(sent).toEqual([1]);
    expect(await asked).toEqual(all([1]));
  });

  it("go alone at once where they are read, or have a turn of their own", async () => {
    const { connection, sent, begin } = batching();
    const reader: BodyReader = { add: () => true, finish: () => undefined };
    const gathered = begin([1]);
    void connection.send(call(2, { group: "other", calls: 1, room: 9 }), never, reader);
    void connection.send(call(3), never);
    void connection.send(call(4, { group: "other", calls: 1, room: 0 }), never);
    expect(sent).toEqual([2, 3, 4]);
    await Promise.all(gathered);
    expect(sent).toEqual([2, 3, 4, 1]);
  });

  it("have no others that come along once they are sent", async () => {
    const { connection, sent } = batching();
    const turn: SharedTurn = { group: "other", calls: 2, room: 8 };
    await Promise.all([1, 2].map((id) => connection.send(call(id, turn), never)));
    expect(turn.room).toBe(0);
    expect(sent).toEqual([[1, 2]]);
  });

  it.each<Exchange>([
    { kind: "timeout" },
    { kind: "unreachable", reason: "ECONNREFUSED" },
    { kind: "crowded" },
    answered("", 429),
  ])("share what became of their request: %j", async (exchange) => {
    const { ask, sent, limits } = batching(() => exchange);
    expect(await ask([1, 2])).toEqual([textOf(exchange), textOf(exchange)]);
    expect([sent, limits]).toEqual([[[1, 2]], []]);
  });

  it.each<[string, (ids: readonly number[]) => Exchange]>([
    ["fails", () => answered("", 503)],
    ["is cut off", () => ({ kind: "unreachable", reason: "UND_ERR_SOCKET" })],
    ["is truncated", (ids) => answered(`[${ids.map(result).join(",")}`.slice(0, -3))],
    ["is one error for all", () => answered('{"id":1,"error":{"code":-32700,"message":"no"}}')],
    ["lacks all answers", () => answered("[]")],
    ["answers others", () => answered(`[${result(8)},${result(9)}]`)],
  ])("are sent again, each by itself, when their request %s", async (_, together) => {
    const { ask, sent } = batching((request) =>
      typeof request.ids === "number" ? willing(request) : together(request.ids),
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(sent).toEqual([[1, 2], 1, 2]);
  });

  it("that found no answer among the others are sent again", async () => {
    const { ask, sent } = batching((request) =>
      typeof request.ids === "number"
        ? willing(request)
        : answered(`[${result(3)},${result(1)},${result(1)}]`),
    );
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(sent).toEqual([[1, 2, 3], 2]);
  });
});

describe("a batch that is refused", () => {
  const refusal = answered('{"id":null,"error":{"code":-32600,"message":"batch too large"}}');

  it("is sent again one by one, and half of it is the most from then on", async () => {
    const takesThree = (request: Sent): Exchange =>
      typeof request.ids !== "number" && request.ids.length > 3 ? refusal : willing(request);
    const { ask, sent, limits, sizes } = batching(takesThree, 8);
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(await ask(ids)).toEqual(all(ids));
    expect(sent).toEqual([ids, ...ids]);
    expect(await ask(ids)).toEqual(all(ids)); // in two batches of four: both refusals count once
    expect(limits).toEqual([4, 2]);
    expect(sizes.mostOf("other")).toBe(2);
    sent.length = 0;
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(sent).toEqual([[1, 2], 3]);
  });

  it("of two calls was the last one", async () => {
    const { ask, sent, limits } = batching((request) =>
      typeof request.ids === "number" ? willing(request) : refusal,
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(await ask([3, 4])).toEqual(all([3, 4]));
    expect(sent).toEqual([[1, 2], 1, 2, 3, 4]);
    expect(limits).toEqual([1]);
  });

  it.each<Exchange>([
    { kind: "too large" },
    answered('{"error":{"code":-32011,"message":"The batch response was too large"}}'),
  ])("for the length of its answer is sent again, and nothing is limits: %j", async (whole) => {
    const { ask, limits } = batching((request) =>
      typeof request.ids === "number" ? willing(request) : whole,
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(limits).toEqual([]);
  });

  it("in part is sent again in part", async () => {
    const { ask, sent } = batching((request) =>
      typeof request.ids === "number"
        ? willing(request)
        : answered(
            `[${result(1)},{"id":2,"error":{"code":-32003,"message":"response too large"}}]`,
          ),
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(sent).toEqual([[1, 2], 2]);
  });
});

describe("a caller who leaves", () => {
  it("before the turn is over costs nothing", async () => {
    const { begin, sent } = batching();
    const caller = new AbortController();
    const [first, second] = begin([1, 2], [caller.signal]);
    caller.abort();
    expect(await first).toEqual({ kind: "aborted" });
    expect(textOf((await second) as Exchange)).toBe(`200 ${result(2)}`);
    expect(sent).toEqual([2]);
  });

  it("does not disturb the others; the last one ends the request", async () => {
    const requests: AbortSignal[] = [];
    const { begin } = batching(({ signal }) => {
      requests.push(signal);
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ kind: "aborted" })),
      );
    });
    const callers = [1, 2].map(() => countedSignal());
    const calls = begin(
      [1, 2],
      callers.map(({ signal }) => signal),
    );
    await new Promise(setImmediate);
    callers[0]?.controller.abort();
    expect(await calls[0]).toEqual({ kind: "aborted" });
    expect(requests.map(({ aborted }) => aborted)).toEqual([false]);
    callers[1]?.controller.abort();
    expect(await calls[1]).toEqual({ kind: "aborted" });
    expect(requests.map(({ aborted }) => aborted)).toEqual([true]);
    expect(callers.map(({ listeners }) => listeners())).toEqual([0, 0]);
  });

  it("is not among those that are sent again", async () => {
    const caller = new AbortController();
    const { begin, sent } = batching((request) => {
      if (typeof request.ids === "number") return willing(request);
      caller.abort();
      return answered("", 413);
    });
    const calls = begin([0, 1], [caller.signal]);
    expect((await Promise.all(calls)).map(textOf)).toEqual(["aborted", `200 ${result(1)}`]);
    expect(sent).toEqual([[0, 1], 1]);
  });
});

describe("where the size is learned", () => {
  const ids = (count: number, from = 1): number[] =>
    Array.from({ length: count }, (_, index) => from + index);
  const lengths = (sent: readonly Sent["ids"][]): number[] =>
    sent.map((each) => (typeof each === "number" ? 1 : each.length));

  /** A node that answered a batch of two, and answers no further batch. */
  const slowWithBatches = async () => {
    let isSlow = false;
    const node = learning((request) =>
      isSlow && typeof request.ids !== "number" ? new Promise(() => undefined) : willing(request),
    );
    await node.clock.advance(1);
    await node.ask(ids(2));
    await node.clock.advance(1);
    isSlow = true;
    node.sent.length = 0;
    return node;
  };

  it("more go together each time that as many as may be went well", async () => {
    const { ask, sent, clock } = learning();
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(1);
      await ask(ids(20));
    }
    // At first one batch tries the size, and the other calls go by themselves.
    expect(lengths(sent.slice(0, 19)).toSorted()).toEqual([...Array(18).fill(1), 2]);
    expect(lengths(sent.slice(19, 24))).toEqual(Array(5).fill(4));
    expect(lengths(sent.slice(-2))).toEqual([16, 4]);
  });

  it("a node that answers batches wrongly gets none soon, and all calls their answers", async () => {
    const { ask, sent, clock } = learning((request) =>
      typeof request.ids === "number" ? willing(request) : answered("<html>", 502),
    );
    for (let round = 0; round < 200; round += 1) {
      expect(await ask(ids(4))).toEqual(all(ids(4)));
      await clock.advance(100); // 20 s in all rounds
    }
    const batches = lengths(sent).filter((length) => length > 1).length;
    expect(batches).toBeLessThanOrEqual(6); // the rests last 1, 2, 4 and 8 s
  });

  it("a slow member keeps the others until their batch is late, and no longer", async () => {
    const { ask, begin, sent, clock } = await slowWithBatches();
    const calls = begin(ids(4));
    await new Promise(setImmediate);
    expect(sent).toEqual([ids(4)]);
    await clock.advance(100);
    expect((await Promise.all(calls)).map(textOf)).toEqual(all(ids(4)));
    expect(sent).toEqual([ids(4), ...ids(4)]);
    sent.length = 0;
    await Promise.all([ask(ids(2)), clock.advance(0).then(() => clock.advance(100))]);
    expect(lengths(sent)).toEqual([2, 1, 1]); // the late batch halved the size
  });

  it("few batches are given up for being late: a node that is slow in all is not asked twice", async () => {
    const { begin, sent, clock } = await slowWithBatches();
    void begin(ids(40));
    await new Promise(setImmediate);
    await clock.advance(1_000);
    await new Promise(setImmediate);
    expect(lengths(sent)).toEqual([...Array(10).fill(4), ...Array(12).fill(1)]);
  });

  it("an answer that is too long for several is asked for by each", async () => {
    const bounds: (number | undefined)[] = [];
    const clock = new FakeClock();
    const sizes = new BatchSizes({ configured: undefined }, { clock });
    const send = async ({ id, json, maxBytes }: NodeRequest): Promise<Exchange> => {
      bounds.push(maxBytes);
      return json.startsWith("[") ? { kind: "too large" } : answered(result(id));
    };
    const connection = new BatchingConnection({
      ...{ connection: { send, close: async () => undefined }, clock, sizes },
    });
    const turn: SharedTurn = { group: "state", calls: 2, room: 0 };
    const exchanges = [1, 2].map((id) => connection.send(call(id, turn), never).then(textOf));
    expect(await Promise.all(exchanges)).toEqual(all([1, 2]));
    expect(bounds).toEqual([1 << 20, undefined, undefined]);
  });
});
