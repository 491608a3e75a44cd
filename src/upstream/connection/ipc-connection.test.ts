import type { Socket } from "node:net";
import { relative } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type IpcAnswer, ipcNode } from "../../../test/support/fake-node.ts";
import type { BodyReader, ConnectionOptions, Exchange } from "./connection.ts";
import { ipcConnection, MessageSplitter } from "./ipc-connection.ts";

const never = new AbortController().signal;
const call = (id: number) => ({ id, json: `{"jsonrpc":"2.0","id":${id},"method":"m"}` });
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function connected(answer: IpcAnswer, options: Partial<ConnectionOptions> = {}) {
  const node = await ipcNode(answer);
  const clock = new FakeClock();
  const connection = ipcConnection(
    {
      url: node.url,
      headers: {},
      connections: 1,
      timeoutMs: 1_000,
      responseBytes: 1_000,
      ...options,
    },
    { clock },
  );
  undo.push(node.close, () => connection.close());
  return { node, clock, connection };
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? exchange.body.toString() : exchange.kind;
const lost = (reason: string) => ({ kind: "unreachable", reason });
const result = (id: number, text = `${id}`): string =>
  `{"jsonrpc":"2.0","id":${id},"result":"${text}"}`;
const echo: IpcAnswer = (socket, id) => socket.write(result(id));

describe("answers over a Unix socket", () => {
  it("find their calls, in whatever order they come, with nothing between them", async () => {
    const { connection, clock, node } = await connected((socket, _id, seen) => {
      if (seen.length === 3) socket.write([3, 1, 2].map((id) => result(id)).join(""));
    });
    const all = await Promise.all([1, 2, 3].map((id) => connection.send(call(id), never)));
    expect(all.map(textOf)).toEqual([1, 2, 3].map((id) => result(id)));
    expect(node.requests).toEqual([1, 2, 3].map((id) => call(id).json));
    expect(node.sockets).toHaveLength(1);
    expect(clock.waiting).toBe(0);
  });

  it("may be cut within a character", async () => {
    const text = Buffer.from(result(1, "é€😀"));
    const drip = (socket: Socket, at = 0): unknown =>
      at < text.length && socket.write(text.subarray(at, at + 1), () => drip(socket, at + 1));
    const { connection } = await connected((socket) => drip(socket));
    expect(textOf(await connection.send(call(1), never))).toBe(String(text));
  });

  it("of 50 MB arrive whole, and the next one soon", async () => {
    const large = result(1, "0123456789abcdef[]{}".repeat(2_500_000));
    const { connection } = await connected(
      (socket, id) => socket.write(id === 1 ? `${large}\n` : result(id)),
      { responseBytes: 1 << 26 },
    );
    const all = [1, 2].map((id) => connection.send(call(id), never));
    expect(textOf(await (all[0] as Promise<Exchange>)) === large).toBe(true);
    expect((await all[1])?.kind).toBe("answered");
  });

  it("that are too large cost their own call only", async () => {
    const { connection, node } = await connected((socket, id) =>
      socket.write(result(id, "x".repeat(id === 1 ? 5_000_000 : 1))),
    );
    const all = await Promise.all([1, 2].map((id) => connection.send(call(id), never)));
    expect(all.map(({ kind }) => kind)).toEqual(["too large", "answered"]);
    expect(node.sockets).toHaveLength(1);
  });

  it.each([
    ["Bad Request\n", "malformed answer"],
    [`{"jsonrpc":"2.0","method":"x","params":"${"x".repeat(2_000)}"}`, "message too large"],
  ])("that make no sense end the socket and its calls: %.30s", async (text, reason) => {
    const { connection, clock } = await connected((socket, id) =>
      id === 3 ? echo(socket, id, []) : socket.write(text),
    );
    const all = await Promise.all([1, 2].map((id) => connection.send(call(id), never)));
    expect(all).toEqual([lost(reason), lost(reason)]);
    await clock.advance(100);
    expect(textOf(await connection.send(call(3), never))).toBe(result(3));
  });

  it("are handed to their readers", async () => {
    const { connection, clock } = await connected(echo);
    const read: string[] = [];
    const reader: BodyReader = {
      add: (chunk) => read.push(String(chunk)) > 0,
      finish: () => Buffer.from("read"),
    };
    const sent = connection.send(call(1), never, reader);
    await expect.poll(() => clock.advance(0).then(() => read)).toEqual([result(1)]);
    await clock.advance(0);
    expect(textOf(await sent)).toBe("read");
  });
});

describe("a call over a Unix socket", () => {
  it.each(["timeout", "aborted"] as const)("is forgotten after %s", async (kind) => {
    const { connection, clock, node } = await connected((socket, id) => {
      if (id === 2) socket.write(result(1) + result(2));
    });
    const caller = new AbortController();
    const first = connection.send(call(1), caller.signal);
    await node.asked(1);
    if (kind === "aborted") caller.abort();
    else await clock.advance(1_000);
    expect(await first).toEqual({ kind });
    expect(textOf(await connection.send(call(2), never))).toBe(result(2));
    expect(await connection.send(call(3), AbortSignal.abort())).toEqual({ kind: "aborted" });
    expect(node.seen).toEqual([1, 2]);
    expect(clock.waiting).toBe(0);
  });

  it("finds a socket by a relative path, and by one with a space", async () => {
    const { node, clock } = await connected(echo);
    for (const path of [relative(".", node.path), node.path.replace("node", "%6eode")]) {
      const connection = ipcConnection(
        { url: `ipc:${path}`, headers: {}, connections: 1, timeoutMs: 1_000, responseBytes: 1_000 },
        { clock },
      );
      undo.push(() => connection.close());
      expect(textOf(await connection.send(call(1), never))).toBe(result(1));
    }
  });
});

describe("a Unix socket that is lost", () => {
  it("answers its calls at once, and comes back after a pause when the node does", async () => {
    const { connection, clock, node } = await connected((socket, id, seen) => {
      if (seen.length > 2) echo(socket, id, seen);
      else if (seen.length === 2) socket.destroy();
    });
    const calls = [1, 2].map((id) => connection.send(call(id), never));
    expect(await Promise.all(calls)).toEqual(calls.map(() => lost("connection closed")));
    await node.stop();
    expect(await connection.send(call(3), never)).toEqual(lost("waiting to reconnect"));
    await clock.advance(100);
    expect(await connection.send(call(4), never)).toEqual(lost("ENOENT"));
    await node.listen();
    await clock.advance(200);
    expect((await connection.send(call(5), never)).kind).toBe("answered");
    expect(clock.waiting).toBe(0);
  });

  it("again, after it came back, is lost for as short as the first time", async () => {
    const { connection, clock, node } = await connected((socket, id) =>
      id === 9 ? socket.destroy() : echo(socket, id, []),
    );
    const ends: string[] = [];
    const listener = { onEvent: () => undefined, onEnd: () => ends.push("end") };
    await connection.subscribe(call(1), listener, never);
    for (const id of [2, 3, 4]) {
      expect((await connection.send(call(id), never)).kind).toBe("answered");
      expect(await connection.send(call(9), never)).toEqual(lost("connection closed"));
      await clock.advance(100);
    }
    expect(node.sockets).toHaveLength(3);
    expect(ends).toEqual(["end"]);
  });

  it("in the middle of an answer gives none", async () => {
    const { connection } = await connected((socket) => socket.end('{"id":1,"result":'));
    expect(await connection.send(call(1), never)).toEqual(lost("connection closed"));
  });

  it("because the connection is closed ends its calls, and takes no more", async () => {
    const { connection, clock, node } = await connected(() => undefined);
    const first = connection.send(call(1), never);
    await node.asked(1);
    await connection.close();
    expect(await first).toEqual(lost("closed"));
    await clock.advance(60_000);
    expect((await connection.send(call(2), never)).kind).toBe("unreachable");
    expect(clock.waiting).toBe(0);
  });
});

describe("a subscription over a Unix socket", () => {
  const event = (text: string): string =>
    `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x5","result":${text}}}`;

  it("hears what comes right behind its answer, and ends with the socket", async () => {
    const { connection } = await connected((socket, id) => {
      socket.write(`${result(id, "0x5")}\n${event("1")}\n${event("2")}`);
      socket.end();
    });
    const heard: string[] = [];
    await new Promise<void>((ended) => {
      const listener = { onEvent: (text: Buffer) => heard.push(String(text)), onEnd: ended };
      void connection.subscribe(call(1), listener, never);
    });
    expect(heard).toEqual(["1", "2"]);
  });

  it("is ended at the node when its signal aborts", async () => {
    const { connection, node } = await connected((socket, id) => socket.write(result(id, "0x5")));
    const caller = new AbortController();
    const listener = { onEvent: () => undefined, onEnd: () => undefined };
    await connection.subscribe(call(1), listener, caller.signal);
    caller.abort();
    await node.asked(2);
    expect(node.requests[1]).toContain('"eth_unsubscribe","params":["0x5"]');
  });
});

/** The messages that a splitter finds when the text comes in pieces of `size` bytes. */
function split(text: string | Buffer, { size = 1e9, responseBytes = 1_000 } = {}) {
  const heard: string[] = [];
  const splitter = new MessageSplitter(
    { responseBytes },
    {
      onMessage: (body) => heard.push(String(body)),
      onTooLarge: (callId) => heard.push(`too large: ${callId}`),
    },
  );
  const json = Buffer.from(text);
  let isSound = true;
  for (let at = 0; at < json.length && isSound; at += size)
    isSound = splitter.add(json.subarray(at, at + size));
  return { heard, isSound };
}

/** The text comes at once, byte by byte, and in small pieces. */
describe.each([1e9, 1, 2, 3, 7])("in pieces of %d bytes", (size) => {
  it.each([
    ["", []],
    ["\n \r\n", []],
    ['{"id":1}\n{"id":2}\n', ['{"id":1}', '{"id":2}']],
    ['{"id":1}{"id":2}[{}]{}', ['{"id":1}', '{"id":2}', "[{}]", "{}"]],
    ['\n{"a":"}{"}\t{"b":"\\"}\\\\"}', ['{"a":"}{"}', '{"b":"\\"}\\\\"}']],
    ['{"é€😀":["é€😀"]}{"😀":1}', ['{"é€😀":["é€😀"]}', '{"😀":1}']],
    ['{"id":1}{"id":', ['{"id":1}']],
  ])("%s", (text, heard) => {
    expect(split(text, { size })).toEqual({ heard, isSound: true });
  });

  it.each(["x", '{"id":1}x{"id":2}', '{"id":1},{"id":2}', '{"id":1}]{"id":2}', '{"id":1}"{}"'])(
    "%s is no such socket",
    (text) => {
      expect(split(text, { size }).isSound).toBe(false);
      expect(split(text, { size }).heard).not.toContain('{"id":2}');
    },
  );

  it.each([
    [`{"jsonrpc":"2.0","id":7,"result":"${"x".repeat(99)}"}`, 7],
    [`{"result":"${"x".repeat(99)}","id":8}`, 8],
    [`{"result":"${"x".repeat(99)}", "id" : 9 , "jsonrpc" : "2.0"}`, 9],
    [`{"result":"${"x".repeat(99)},\\"id\\":9}"}`, undefined],
    [`{"result":{"x":"${"x".repeat(99)}","id":9}}`, undefined],
    [`{"result":"${"x".repeat(99)}","id":"9"}`, undefined],
    [`{"result":"${"x".repeat(99)}","not \\"id":9}`, undefined],
    [`{"method":"eth_subscription","params":["${"x".repeat(99)}"]}`, undefined],
  ])("one that is too large is not kept, and those behind it are: %s", (large, callId) => {
    const text = `{"id":1}${large}\n{"id":2}`;
    const heard = ['{"id":1}', `too large: ${callId}`, '{"id":2}'];
    expect(split(text, { size, responseBytes: 90 })).toEqual({ heard, isSound: true });
  });
});

describe("any messages", () => {
  const message = fc
    .dictionary(fc.string({ unit: "binary" }), fc.jsonValue())
    .map((value) => JSON.stringify(value));
  const space = fc.constantFrom("", "\n", " \r\n");

  it("come as they were written, wherever they are cut", () => {
    const any = fc.array(fc.tuple(message, space), { maxLength: 5 });
    fc.assert(
      fc.property(any, fc.integer({ min: 1, max: 9 }), (messages, size) => {
        const text = messages.map((parts) => parts.join("")).join("");
        const heard = messages.map(([one]) => String(Buffer.from(one)));
        expect(split(text, { size, responseBytes: 1e6 })).toEqual({ heard, isSound: true });
      }),
    );
  });
});

it("is told of an answer's call before all of it has come", () => {
  const { heard } = split(`{"id":7,"result":"${"x".repeat(200)}`, { size: 10, responseBytes: 90 });
  expect(heard).toEqual(["too large: 7"]);
});
