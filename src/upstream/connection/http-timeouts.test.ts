// The requests that an HTTP connection gives up leave no timer and no busy socket behind.
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import * as fake from "../../../test/support/fake-node.ts";
import type { ConnectionOptions } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";

const request = { id: 1, json: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' };
const never = new AbortController().signal;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A connection to a node; `asked(n)` resolves when the node has got `n` requests. */
async function withNode(answer: RequestListener, options: Partial<ConnectionOptions> = {}) {
  let count = 0;
  const waiting: { want: number; tell: () => void }[] = [];
  const node = await fake.httpNode((incoming, response) => {
    incoming.resume();
    count += 1;
    answer(incoming, response);
    for (const { want, tell } of waiting) if (count >= want) tell();
  });
  const asked = (want: number) =>
    new Promise<void>((tell) => (count >= want ? tell() : waiting.push({ want, tell })));
  const clock = new FakeClock();
  const connection = new HttpConnection(
    { url: node.url, headers: {}, connections: 1, timeoutMs: 100, responseBytes: 1000, ...options },
    { clock },
  );
  undo.push(node.close, () => connection.close());
  return { node, clock, connection, asked };
}

/** A node that calls `hang` for the first request, and answers all later ones. */
function hangsOnce(hang: RequestListener = () => undefined): RequestListener {
  let calls = 0;
  return (incoming, response) => {
    calls += 1;
    if (calls === 1) hang(incoming, response);
    else response.end("{}");
  };
}

describe("a node that does not answer in time", () => {
  it("is timed out, and its socket is free for the next call", async () => {
    const { connection, clock, asked, node } = await withNode(hangsOnce());
    const first = connection.send(request, never);
    await asked(1);
    await clock.advance(100);
    expect(await first).toEqual({ kind: "timeout" });
    expect((await connection.send(request, never)).kind).toBe("answered");
    expect(node.sockets).toHaveLength(2);
    expect(clock.waiting).toBe(0);
  });

  it("is timed out although it drips", async () => {
    const { connection, clock, asked } = await withNode(
      hangsOnce((_incoming, response) => response.write("{")),
    );
    const call = connection.send(request, never);
    await asked(1);
    for (const _ of [1, 2, 3]) await clock.advance(40);
    expect(await call).toEqual({ kind: "timeout" });
  });

  it("costs calls that gave up while they waited nothing but their place", async () => {
    const open: (() => void)[] = [];
    const { connection, clock, asked, node } = await withNode(
      hangsOnce((_incoming, response) => open.push(() => response.end("{}"))),
      { timeoutMs: 1_000 },
    );
    const first = connection.send(request, never);
    await asked(1);
    const callers = [1, 2, 3].map(() => new AbortController());
    const waiting = callers.map(({ signal }) => connection.send(request, signal));
    for (const caller of callers) caller.abort();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ kind: "aborted" })));
    const last = connection.send(request, never);
    for (const answer of open) answer();
    expect((await first).kind).toBe("answered");
    expect((await last).kind).toBe("answered");
    expect(node.sockets).toHaveLength(1);
    expect(clock.waiting).toBe(0);
  });
});

describe("an answer that is too large", () => {
  const large = Buffer.alloc(2_000, "x");

  it.each<[string, RequestListener]>([
    ["announced", (_incoming, response) => response.end(large)],
    [
      "not announced",
      (_incoming, response) => {
        response.write(large.subarray(0, 900));
        response.end(large);
      },
    ],
    [
      "announced, and never sent",
      (_incoming, response) => {
        response.writeHead(200, { "content-length": 2_000 }).flushHeaders();
      },
    ],
  ])("is refused: %s", async (_, answer) => {
    const { connection, clock } = await withNode(answer);
    expect(await connection.send(request, never)).toEqual({ kind: "too large" });
    expect(clock.waiting).toBe(0);
  });

  it("is one byte over the limit, not at it", async () => {
    const sizes = [1_000, 1_001];
    const { connection } = await withNode((_incoming, response) =>
      response.end(large.subarray(0, sizes.shift())),
    );
    expect((await connection.send(request, never)).kind).toBe("answered");
    expect((await connection.send(request, never)).kind).toBe("too large");
  });
});

describe("a caller who goes away", () => {
  it("before the call is sent: nothing is sent", async () => {
    const { connection, node } = await withNode(() => undefined);
    expect(await connection.send(request, AbortSignal.abort())).toEqual({ kind: "aborted" });
    expect(node.sockets).toHaveLength(0);
  });

  it("while the answer is read: its socket is closed", async () => {
    const { connection, asked, node, clock } = await withNode((_incoming, response) =>
      response.write("{"),
    );
    const caller = new AbortController();
    const call = connection.send(request, caller.signal);
    await asked(1);
    const [socket] = node.sockets as [Socket];
    caller.abort();
    expect(await call).toEqual({ kind: "aborted" });
    if (!socket.closed) await new Promise((closed) => socket.once("close", closed));
    expect(clock.waiting).toBe(0);
  });
});

describe("a connection that is closed", () => {
  it("ends the calls that are asked and those that wait", async () => {
    const { connection, asked, clock } = await withNode(() => undefined);
    const calls = [1, 2, 3].map(() => connection.send(request, never));
    await asked(1);
    await connection.close();
    expect(await Promise.all(calls)).toEqual(
      calls.map(() => ({ kind: "unreachable", reason: "closed" })),
    );
    expect(clock.waiting).toBe(0);
  });

  it("answers nobody any more, and may be closed twice", async () => {
    const { connection } = await withNode(() => undefined);
    await connection.close();
    await connection.close();
    expect((await connection.send(request, never)).kind).toBe("unreachable");
  });
});

it("many calls with one signal make no warning about listeners", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warn);
  undo.push(() => process.off("warning", warn));
  const { connection } = await withNode((_incoming, response) => response.end("{}"));
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 50 }, () => connection.send(request, signal)));
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});
