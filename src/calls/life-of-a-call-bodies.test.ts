// A request body and its response: lone calls, batches, and messages that are no calls.
import { type Logger, pino } from "pino";
import { describe, expect, it } from "vitest";
import type { CountedCall } from "../access/usage/key-usage.ts";
import { BorrowedJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Answer, Method } from "../methods/method.ts";
import type { Caller } from "./caller.ts";
import { type AnswerBodyParts, BodyAnswerer, visibleError } from "./life-of-a-call.ts";
import type { RpcResponse } from "./response.ts";

type Given = {
  /** The answer of the network's only method to its first parameter. */
  readonly answer?: (parameter: unknown) => Answer;
  /** The limits of a batch: of the gateway, and of the key. */
  readonly maxBatch?: number;
  readonly largestBatch?: number;
  readonly isScarce?: boolean;
  readonly turns?: { enter(): "on" | "over"; join(): "on" | "over"; next(): Promise<void> };
};

function world({ answer = () => '"0x1"', maxBatch = 10, largestBatch, ...given }: Given = {}) {
  const counted: CountedCall[] = [];
  const charged: number[] = [];
  const logged: string[] = [];
  const log = pino({ level: "error" }, { write: (line) => logged.push(JSON.parse(line)) });
  const method = {
    ...{ name: "eth_test", kind: "read", isOwn: false, parameters: "any", params: [] },
    answer: (_: object, call: { paramsJson: string }) => answer(JSON.parse(call.paramsJson)[0]),
  } as unknown as Method;
  const scope = {
    refused: 0,
    hasEnded: false,
    hold: () => undefined,
    restartDeadline: () => undefined,
  };
  const caller = {
    grant: {
      name: "k",
      scope: { forbidsCall: () => undefined, largestBatch },
      meter: {
        begin: () => undefined,
        end: () => undefined,
        charge: (units: number) => void charged.push(units),
      },
      usage: { record: (call: CountedCall) => counted.push(call) },
    },
    network: {
      facts: { name: "n", family: "evm", chainId: 1, limits: { logs: {}, upstreamCalls: 10 } },
      catalogue: {
        served: new Map([["eth_test", method]]),
        isClosed: () => false,
      },
      head: { batchView: () => ({}), loneView: () => ({}) },
      chain: undefined,
    },
    requestId: "r",
    scope,
  } as unknown as Caller;
  const turns = given.turns ?? { enter: on, join: on, next: () => Promise.resolve() };
  const parts = {
    ...{ clock: { now: () => 0 }, costs: { of: () => 3 }, log, turns },
    memory: {
      admitCall: () => !given.isScarce,
      admitBatch: () => !given.isScarce,
      isCalmFor: () => true,
    },
    metrics: {
      callEnded: () => undefined,
      callSaved: () => undefined,
      callBounded: () => undefined,
    },
  } as unknown as AnswerBodyParts;
  const answered = new BodyAnswerer({ batch: maxBatch, batchResponseBytes: 1e6 }, parts);
  const send = (body: unknown): RpcResponse | Promise<RpcResponse> =>
    answered.answer(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), caller);
  return { send, counted, charged, logged, scope };
}

const callOf = (id: unknown, parameter?: unknown, name = "eth_test") => ({
  ...{ jsonrpc: "2.0", id, method: name },
  params: parameter === undefined ? [] : [parameter],
});

async function textOf(reply: RpcResponse | Promise<RpcResponse>): Promise<string> {
  const { pieces } = await reply;
  let text = "";
  for await (const piece of pieces) text += String(piece);
  return text;
}

const parsed = async (reply: RpcResponse | Promise<RpcResponse>): Promise<unknown> =>
  JSON.parse(await textOf(reply));

describe("a lone call", () => {
  it("is answered without waiting, with the id and the result as they were written", async () => {
    const { send } = world({ answer: () => '{ "a":1.0 }' });
    const reply = send('{"jsonrpc":"2.0","id":"\\u0061","method":"eth_test"}');
    expect(reply).not.toBeInstanceOf(Promise);
    expect(reply).toMatchObject({ status: 200, provenance: { source: "local" } });
    expect(await textOf(reply)).toBe('{"jsonrpc":"2.0","id":"\\u0061","result":{ "a":1.0 }}');
  });

  it("is in the key's usage once it is answered", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { send, counted, scope } = world({ answer: () => promise });
    const reply = send(callOf(1));
    expect(counted).toEqual([]);
    resolve('"0x2"');
    expect(await parsed(reply)).toMatchObject({ id: 1, result: "0x2" });
    expect(counted).toMatchObject([{ method: "eth_test", computeUnits: 3, outcome: "ok" }]);
    expect(scope.refused).toBe(0);
  });

  it("that fails has its error's status, and counts as refused where it is the caller's fault", async () => {
    const { send, counted, scope } = world({
      answer: () => Promise.reject(errors.methodNotForKey("methods")),
    });
    expect(await send(callOf(1))).toMatchObject({ status: 403 });
    expect(counted).toMatchObject([{ outcome: "refused" }]);
    expect(scope.refused).toBe(1);
  });

  it("whose result cannot be put together fails, and says so", async () => {
    const broken = new BorrowedJson({
      length: 5,
      write: () => {
        throw new RangeError("Invalid string length");
      },
    });
    for (const result of [broken, Promise.resolve(broken)]) {
      const { send, counted, logged } = world({ answer: () => result as unknown as Answer });
      expect(await parsed(send([callOf(1), callOf(2)]))).toMatchObject(
        [1, 2].map((id) => ({ id, error: { code: -32603 } })),
      );
      expect(counted).toMatchObject([{ outcome: "error" }, { outcome: "error" }]);
      expect(logged).toHaveLength(2);
    }
  });

  it("that comes too often is refused by its limits alone", async () => {
    const limit = { limit: 1, remaining: 0, retryAfter: 1, rule: "rate" } as const;
    const { send, scope } = world({
      answer: () => {
        throw errors.rateLimited(limit);
      },
    });
    expect(await send(callOf(1))).toMatchObject({ status: 429, rateLimit: limit });
    expect(scope.refused).toBe(0);
  });

  it("of a method that is not there is charged, and counted as other", async () => {
    const { send, counted } = world();
    expect(await parsed(send(callOf(1, undefined, "eth_none")))).toMatchObject({
      error: { code: -32601 },
    });
    expect(counted).toMatchObject([{ method: "other", computeUnits: 3, outcome: "error" }]);
  });
});

describe("what is no call", () => {
  it("costs a unit, and is in no usage", async () => {
    const { send, counted, charged, scope } = world();
    expect(await parsed(send({ jsonrpc: "2.0", id: 7 }))).toMatchObject({
      id: 7,
      error: { code: -32600 },
    });
    expect([charged, counted, scope.refused]).toEqual([[1], [], 1]);
  });

  it.each([
    ["no JSON", "{", "parse error"],
    ["an empty batch", "[]", "empty batch"],
  ])("%s is thrown for the server to answer", (_, body, message) => {
    expect(() => world().send(body)).toThrow(message);
  });
});

describe("a batch", () => {
  it("is 200, and answered in its order whatever is ready first", async () => {
    const later = Promise.withResolvers<string>();
    const { send, counted } = world({ answer: (each) => (each === 1 ? later.promise : '"now"') });
    const reply = send([callOf("a", 1), { id: 5 }, callOf("b", 2)]);
    later.resolve('"later"');
    expect((await reply).status).toBe(200);
    expect(await parsed(reply)).toMatchObject([
      { id: "a", result: "later" },
      { id: 5, error: { code: -32600 } },
      { id: "b", result: "now" },
    ]);
    expect(counted.map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  });

  it.each([
    { given: { maxBatch: 2 }, data: undefined },
    { given: { maxBatch: 2, largestBatch: 5 }, data: undefined },
    { given: { largestBatch: 2 }, data: { rule: "batch", limit: 2 } },
  ])("larger than $given is refused as a whole", ({ given, data }) => {
    const { send } = world(given);
    const batch = [1, 2, 3].map((id) => callOf(id));
    expect(() => send(batch)).toThrow(expect.objectContaining({ status: 413, data }));
    expect(() => send(batch.slice(1))).not.toThrow();
  });

  it("is not begun where memory is scarce", () => {
    const { send } = world({ isScarce: true });
    expect(() => send([callOf(1), callOf(2)])).toThrow(errors.memoryIsScarce().message);
  });
});

const on = (): "on" => "on";

it("a large body waits while it is others' turn, a small one does not", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const { send } = world({
    turns: { enter: () => "over" as const, join: () => "over" as const, next: () => promise },
    answer: (parameter) => {
      asked.push(String(parameter).length);
      return '"0x1"';
    },
  });
  const reply = send(callOf(1, "x".repeat(10_000)));
  await send(callOf(2, "small"));
  expect(asked).toEqual([5]);
  resolve();
  await reply;
  expect(asked).toEqual([5, 10_000]);
});

describe("what a caller may know of an error", () => {
  const seen = (thrown: unknown, hasEnded = false) => {
    const lines: unknown[] = [];
    const log = { error: (...line: unknown[]) => lines.push(line) } as unknown as Logger;
    const visible = visibleError(
      thrown,
      { requestId: "r", scope: { hasEnded } as Caller["scope"] },
      log,
    );
    return { visible, lines };
  };

  it("is all of what was meant for it, which leaves no line", () => {
    const error = errors.unknownBlock();
    expect(seen(error)).toEqual({ visible: error, lines: [] });
  });

  it("is nothing of what nobody expected, which the log has", () => {
    const cause = new TypeError("of the inside");
    const { visible, lines } = seen(cause);
    expect(visible).toMatchObject({ code: -32603, message: "internal error", status: 500 });
    expect(JSON.stringify(visible)).not.toContain("inside");
    expect(lines).toEqual([[{ request: "r", code: -32603, err: cause }, "internal error"]]);
  });

  it.each([
    ["who has left leaves no line", errors.internal("r", undefined), true],
    ["who may come again in a second leaves no line", errors.memoryIsScarce(), false],
  ])("%s", (_, error, hasEnded) => {
    expect(seen(error, hasEnded)).toEqual({ visible: error, lines: [] });
  });
});
