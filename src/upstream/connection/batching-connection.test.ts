import { describe, expect, it } from "vitest";
import { countedSignal } from "../../../test/support/counted-signal.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { memoryHolder } from "../../lib/memory-budget.ts";
import { requestJson } from "../reply.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { BodyReader, Exchange } from "./connection.ts";

const never = new AbortController().signal;
const call = (id: number, isBatchable = true) => ({
  id,
  json: requestJson(id, "m", "[]"),
  isBatchable,
});
const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":${id * 10}}`;
const answered = (text: string, status = 200): Exchange => ({
  kind: "answered",
  status,
  body: Buffer.from(text),
});
const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? `${exchange.status} ${exchange.body}` : exchange.kind;

type Sent = { ids: number | number[]; signal: AbortSignal };

/** Answers as a node would that takes batches. */
const willing = ({ ids }: Sent): Exchange =>
  answered(typeof ids === "number" ? result(ids) : `[${ids.map(result).join(",")}]`);

/** Over a connection that is told what to answer; `sent` are its requests: an id, or those of a batch. */
function batching(answer: (sent: Sent) => Exchange | Promise<Exchange> = willing, batch = 10) {
  const sent: Sent["ids"][] = [];
  const learned: number[] = [];
  const send = async ({ json }: { json: string }, signal: AbortSignal): Promise<Exchange> => {
    const request = JSON.parse(json) as { id: number } | { id: number }[];
    const ids = Array.isArray(request) ? request.map(({ id }) => id) : request.id;
    sent.push(ids);
    return answer({ ids, signal });
  };
  const connection = new BatchingConnection(
    { batch, onLearned: (size) => learned.push(size) },
    { connection: { send, close: async () => undefined }, clock: new FakeClock() },
  );
  const ask = (ids: readonly number[]): Promise<string[]> =>
    Promise.all(ids.map((id) => connection.send(call(id), never).then(textOf)));
  return { connection, sent, learned, ask };
}

const all = (ids: readonly number[]): string[] => ids.map((id) => `200 ${result(id)}`);

describe("calls of one turn", () => {
  it("are one request, and each gets its own answer", async () => {
    const { ask, sent } = batching();
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(await ask([4, 5])).toEqual(all([4, 5]));
    expect(sent).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it("are as many requests as make none too long, sent as soon as one is full", async () => {
    const { ask, sent } = batching(willing, 2);
    const asked = ask([1, 2, 3, 4, 5]);
    expect(sent).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(await asked).toEqual(all([1, 2, 3, 4, 5]));
    expect(sent).toEqual([[1, 2], [3, 4], 5]);
  });

  it("may be one: it goes alone, as an object, in this turn", async () => {
    const { ask, sent } = batching();
    const asked = ask([1]);
    await new Promise(setImmediate);
    expect(sent).toEqual([1]);
    expect(await asked).toEqual(all([1]));
  });

  it("go alone at once where they are read, must not be sent twice, or have the id of another", async () => {
    const { connection, sent } = batching();
    const reader: BodyReader = { add: () => true, finish: () => undefined };
    const gathered = connection.send(call(1), never);
    void connection.send(call(2), never, reader);
    void connection.send(call(3, false), never);
    void connection.send(call(1), never);
    expect(sent).toEqual([2, 3, 1]);
    await gathered;
    expect(sent).toEqual([2, 3, 1, 1]);
  });

  it.each<Exchange>([{ kind: "timeout" }, { kind: "unreachable", reason: "x" }, answered("", 503)])(
    "share what became of their request: %j",
    async (exchange) => {
      const { ask, sent, learned } = batching(() => exchange);
      expect(await ask([1, 2])).toEqual([textOf(exchange), textOf(exchange)]);
      expect([sent, learned]).toEqual([[[1, 2]], []]);
    },
  );

  it("that found no answer among the others are malformed", async () => {
    const { ask } = batching(() => answered(`[${result(3)},${result(1)}]`));
    expect(await ask([1, 2, 3])).toEqual([`200 ${result(1)}`, "unreachable", `200 ${result(3)}`]);
  });
});

describe("a batch that is refused", () => {
  const refusal = answered('{"id":null,"error":{"code":-32600,"message":"batch too large"}}');

  it("is sent again one by one, and half of it is the most from then on", async () => {
    const takesThree = (request: Sent): Exchange =>
      typeof request.ids !== "number" && request.ids.length > 3 ? refusal : willing(request);
    const { ask, sent, learned, connection } = batching(takesThree, 8);
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(await ask(ids)).toEqual(all(ids));
    expect(sent).toEqual([ids, ...ids]);
    expect(await ask(ids)).toEqual(all(ids)); // in two of four, both refused: one lesson
    expect(learned).toEqual([4, 2]);
    expect(connection.batchSize).toBe(2);
    sent.length = 0;
    expect(await ask([1, 2, 3])).toEqual(all([1, 2, 3]));
    expect(sent).toEqual([[1, 2], 3]);
  });

  it("of two calls was the last one", async () => {
    const { ask, sent, learned } = batching((request) =>
      typeof request.ids === "number" ? willing(request) : refusal,
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(await ask([3, 4])).toEqual(all([3, 4]));
    expect(sent).toEqual([[1, 2], 1, 2, 3, 4]);
    expect(learned).toEqual([1]);
  });

  it.each<Exchange>([
    { kind: "too large" },
    answered('{"error":{"code":-32011,"message":"The batch response was too large"}}'),
  ])("for the length of its answer is sent again, and nothing is learned: %j", async (whole) => {
    const { ask, learned } = batching((request) =>
      typeof request.ids === "number" ? willing(request) : whole,
    );
    expect(await ask([1, 2])).toEqual(all([1, 2]));
    expect(learned).toEqual([]);
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
    const { connection, sent } = batching();
    const caller = new AbortController();
    const first = connection.send(call(1), caller.signal);
    const second = connection.send(call(2), never);
    caller.abort();
    expect(textOf(await first)).toBe("aborted");
    expect(textOf(await second)).toBe(`200 ${result(2)}`);
    expect(sent).toEqual([2]);
  });

  it("does not disturb the others; the last one ends the request", async () => {
    const requests: AbortSignal[] = [];
    const { connection } = batching(({ signal }) => {
      requests.push(signal);
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ kind: "aborted" })),
      );
    });
    const callers = [1, 2].map(() => countedSignal());
    const calls = callers.map(({ signal }, id) => connection.send(call(id), signal));
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
    const { connection, sent } = batching((request) => {
      if (typeof request.ids === "number") return willing(request);
      caller.abort();
      return answered("", 413);
    });
    const calls = [caller.signal, never].map((signal, id) => connection.send(call(id), signal));
    expect((await Promise.all(calls)).map(textOf)).toEqual(["aborted", `200 ${result(1)}`]);
    expect(sent).toEqual([[0, 1], 1]);
  });
});

describe("a batch whose answer is not read on since too much waits", () => {
  const [storm, other] = [memoryHolder("storm"), memoryHolder("other")];
  const crowded = ({ ids }: Sent): Exchange =>
    Array.isArray(ids) ? { kind: "crowded" } : answered(result(ids));

  it.each([
    { what: "is sent again in parts when it was for several keys", keys: [storm, other], times: 3 },
    { what: "is not sent again when it was for one", keys: [storm, storm], times: 1 },
  ])("$what", async ({ keys, times }) => {
    const { connection, sent } = batching(crowded);
    const exchanges = await Promise.all(
      keys.map((holder, id) => connection.send({ ...call(id), holder }, never).then(textOf)),
    );
    expect(sent).toHaveLength(times);
    expect(exchanges).toEqual(times === 1 ? ["crowded", "crowded"] : all([0, 1]));
  });
});
