import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { Grant } from "../access/keys/key-ring.ts";
import type { RpcResponse } from "../calls/response.ts";
import type { PushChannel } from "../filters/subscription.ts";
import { ruleOf } from "../jsonrpc/rpc-error.ts";
import { MemoryBudget, memoryHolder } from "../lib/memory-budget.ts";
import { CallerSockets, type CallerSocketsOptions } from "./caller-sockets.ts";

const OPTIONS: CallerSocketsOptions = {
  limits: {
    bodyBytes: 1_000_000,
    webSocket: { perKey: 10, messagesPerSecond: 2, isCompressed: true, subscriptionsPerKey: 10 },
  },
  timeouts: { bodyMs: 20_000, callMs: 10_000, pingMs: 30_000, webSocketIdleMs: 3_600_000 },
};
const BURST = 20;
const ROUTE = { kind: "endpoint", network: "main", key: "key" } as const;

const answerOf = (text: string): RpcResponse =>
  ({ status: 200, pieces: [text], bytes: text.length }) as unknown as RpcResponse;

let clock: FakeClock;
let memory: MemoryBudget;
let closed: string[];
/** The refusals that were counted with the key's usage: the key's name and the rule. */
let refusals: string[];
let faults: string[];
let sockets: CallerSockets;
let server: Server;
let connections: Socket[];
/** The channel of the last message. */
let channel: PushChannel | undefined;
/** The answer to each message. */
let answer: () => Promise<RpcResponse>;

const holder = memoryHolder("test");
const grant = {
  name: "test",
  meter: { memory: holder, charge: () => undefined },
  usage: { record: () => undefined },
} as unknown as Grant;

beforeEach(async () => {
  clock = new FakeClock();
  memory = new MemoryBudget({ bytes: 400_000 }, { onRefused: () => undefined });
  closed = [];
  refusals = [];
  faults = [];
  connections = [];
  answer = async () => answerOf("done");
  sockets = new CallerSockets(OPTIONS, {
    endpoint: {
      admitSocket: async () => ({ grant, allowOrigin: "*" }),
      answerMessage: (incoming) => {
        channel = incoming.channel;
        return answer();
      },
      payerOf: () => ({ grant, network: { facts: { name: "main" } } as never }),
      countRefusal: (_, by, error) => void refusals.push(`${by?.name} ${ruleOf(error)}`),
    },
    connections: { requestsOn: () => undefined },
    bodies: { refuse: () => answerOf("refused") },
    memory,
    turns: { join: () => "on", next: async () => undefined },
    metrics: {
      webSocketClosed: (why) => void closed.push(why),
      webSocketsCounted: () => undefined,
      webSocketMessage: () => undefined,
    },
    guard: {
      failed: (event, connection) => {
        faults.push(event);
        connection.destroy();
      },
    },
    clock,
  });
  server = createServer();
  server.on("upgrade", (request, socket, head) => {
    connections.push(socket as Socket);
    void sockets.upgrade({ request, socket, head, requestId: "1", route: ROUTE });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  for (const connection of connections) connection.destroy();
  server.close();
  await once(server, "close");
});

async function opened(options: object = { perMessageDeflate: false }): Promise<WebSocket> {
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, options);
  await once(socket, "open");
  return socket;
}

async function said(socket: WebSocket, text = "{}"): Promise<string> {
  const heard = once(socket, "message");
  socket.send(text);
  return String((await heard)[0]);
}

const ended = async (socket: WebSocket): Promise<number> => (await once(socket, "close"))[0];

/** Resolves when the server has seen the client's action. */
async function seen(isSeen: () => boolean): Promise<void> {
  while (!isSeen()) await new Promise(setImmediate);
}

it("a key that has as many sockets as it may is refused another one, which is counted", async () => {
  for (let count = 0; count < OPTIONS.limits.webSocket.perKey; count += 1) await opened();
  await expect(opened()).rejects.toThrow("429");
  expect(refusals).toEqual(["test webSockets"]);
});

describe("the messages of a key", () => {
  const isSpent = async (socket: WebSocket): Promise<boolean> => (await said(socket)) === "refused";

  it("are no more after its sockets were closed and opened again", async () => {
    const first = await opened();
    for (let sent = 0; sent < BURST; sent += 1) expect(await said(first)).toBe("done");
    expect(await isSpent(first)).toBe(true);
    expect(refusals).toEqual(["test messages"]);
    first.close();
    await ended(first);
    expect(await isSpent(await opened())).toBe(true);
  });

  it("are forgotten when they would be as many as before", async () => {
    const socket = await opened();
    expect(await said(socket)).toBe("done");
    socket.close();
    await ended(socket);
    await clock.advance(1_000);
    expect(clock.waiting).toBe(0);
  });

  it("are as many as another configuration says", async () => {
    const socket = await opened();
    const { limits } = OPTIONS;
    const webSocket = { ...limits.webSocket, messagesPerSecond: 0.1 };
    sockets.reconfigure({ ...OPTIONS, limits: { ...limits, webSocket } });
    expect(await said(socket)).toBe("done");
    expect(await isSpent(socket)).toBe(true);
  });
});

describe("a message that is not whole yet", () => {
  /** Sends the first bytes of a message that is not whole yet. */
  const begin = (socket: WebSocket, bytes: number): void =>
    socket.send("x".repeat(bytes), { fin: false });

  it("counts among what waits, until it is answered", async () => {
    const socket = await opened();
    begin(socket, 100_000);
    await seen(() => memory.waitingAs("bodies") >= 100_000);
    expect(holder.bytes).toBeGreaterThanOrEqual(100_000);
    expect(await said(socket, "x")).toBe("done");
    await seen(() => memory.waiting === 0);
    expect(holder.bytes).toBe(0);
  });

  it("counts as what it is when it was compressed", async () => {
    // Decompression takes more turns of the event loop on a busy machine: no timeout may end the socket before.
    sockets.reconfigure({
      ...OPTIONS,
      timeouts: { ...OPTIONS.timeouts, pingMs: 1e12, bodyMs: 1e12 },
    });
    const socket = await opened({ perMessageDeflate: true });
    expect(socket.extensions).toContain("permessage-deflate");
    socket.send("x".repeat(100_000), { fin: false, compress: true });
    while (memory.waiting < 100_000) await clock.advance(100);
    socket.terminate();
    await seen(() => memory.waiting === 0);
  });

  it("ends with its socket when there is no room for it", async () => {
    const others = await Promise.all([opened(), opened(), opened()]);
    for (const socket of others) begin(socket, 90_000);
    await seen(() => memory.waiting >= 270_000);
    const small = await opened();
    begin(small, 1_000);
    const large = await opened();
    begin(large, 90_000);
    expect(await ended(large)).toBe(1006);
    expect(closed).toEqual(["scarce"]);
    expect(await said(small, "x")).toBe("done");
  });

  it("keeps its socket while more of its only frame comes, in which no pong can be", async () => {
    const { timeouts } = OPTIONS;
    sockets.reconfigure({ ...OPTIONS, timeouts: { ...timeouts, pingMs: 3_000, bodyMs: 60_000 } });
    const socket = await opened({ perMessageDeflate: false, autoPong: false });
    const { _socket: plain } = socket as unknown as { _socket: Socket };
    // A masked text frame of 30,000 bytes, whose mask changes nothing.
    plain.write(Buffer.from([0x81, 0xfe, 30_000 >> 8, 30_000 & 0xff, 0, 0, 0, 0]));
    for (let sent = 1_000; sent < 30_000; sent += 1_000) {
      plain.write("x".repeat(1_000));
      await seen(() => memory.waitingAs("bodies") >= sent);
      await clock.advance(1_000);
      expect(closed).toEqual([]);
    }
    const heard = once(socket, "message");
    plain.write("x".repeat(1_000));
    expect(String((await heard)[0])).toBe("done");
  });

  it("ends with its socket when the rest does not come", async () => {
    const socket = await opened();
    expect(await said(socket)).toBe("done");
    begin(socket, 10);
    await seen(() => memory.waiting > 0);
    const end = ended(socket);
    for (let second = 0; second < 19; second += 1) await clock.advance(1_000);
    expect(closed).toEqual([]);
    await clock.advance(1_000);
    await clock.advance(1_000);
    expect(await end).toBe(1006);
    expect(closed).toEqual(["late"]);
  });
});

describe("a socket is terminated", () => {
  it("when an answer's parts are gone", async () => {
    answer = async () =>
      ({
        status: 200,
        bytes: 4,
        pieces: [
          {
            length: 4,
            heldBytes: 4,
            chunks: () => {
              throw new Error("it left the store");
            },
          },
        ],
      }) as unknown as RpcResponse;
    const socket = await opened();
    socket.send("{}");
    expect(await ended(socket)).toBe(1006);
    expect(closed).toEqual(["broken"]);
  });

  it.each(["ping", "pong"] as const)("for a flood: %s", async (kind) => {
    const socket = await opened();
    const end = ended(socket);
    for (let sent = 0; sent < 200; sent += 1) socket[kind]();
    expect(await end).toBe(1006);
    expect(closed).toEqual(["flood"]);
  });

  it("for a flood of pings over the seconds in which it takes nothing, not for one", async () => {
    answer = async () => answerOf("x".repeat(20_000_000));
    const socket = await opened();
    socket.pause();
    socket.send("{}");
    await seen(() => (connections[0]?.writableLength ?? 0) > 65_536);
    const pinged = async (count: number): Promise<void> => {
      const before = connections[0]?.bytesRead ?? 0;
      for (let sent = 0; sent < count; sent += 1) socket.ping();
      await seen(() => (connections[0]?.bytesRead ?? 0) >= before + 6 * count);
      await clock.advance(1_000);
    };
    await pinged(1);
    expect(closed).toEqual([]);
    await pinged(50);
    expect(closed).toEqual([]);
    const end = ended(socket);
    for (let sent = 0; sent < 50; sent += 1) socket.ping();
    socket.resume();
    expect(await end).toBe(1006);
    expect(closed).toEqual(["flood"]);
  });

  it("for fragments that say nothing", async () => {
    const socket = await opened();
    for (let sent = 0; sent < 20_000; sent += 1) socket.send("", { fin: false });
    expect(await ended(socket)).toBe(1008);
  });

  it("for messages that are refused again and again", async () => {
    const socket = await opened();
    socket.on("message", () => undefined);
    const end = ended(socket);
    for (let sent = 0; sent < 10 * BURST; sent += 1) socket.send("{}");
    expect(await end).toBe(1008);
    expect(closed).toEqual(["noisy"]);
  });
});

describe("notifications for a caller that reads nothing", () => {
  const BYTES = 8_000_000; // more than the system's buffers take

  /** A socket that does not read, with two notifications, and what was made of them. */
  async function unread() {
    const socket = await opened();
    await said(socket);
    socket.pause();
    const made: number[] = [];
    const push = (number: number): Promise<boolean> => {
      const make = (): string[] => {
        made.push(number);
        return ["x".repeat(BYTES)];
      };
      return (channel as PushChannel).push(make, "eth_subscribe", number);
    };
    const pushing = [push(1), push(2)];
    await seen(() => made.length === 1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    return { socket, made, pushing };
  }

  it("are made one by one, as it takes them, and count for its key", async () => {
    const { socket, made, pushing } = await unread();
    expect(made).toEqual([1]);
    expect([holder.bytes, memory.waitingAs("unsent")]).toEqual([BYTES, BYTES]);
    const ready = (channel as PushChannel).ready();
    socket.resume();
    expect(await Promise.all(pushing)).toEqual([true, true]);
    expect(await ready).toBe(true);
    expect(made).toEqual([1, 2]);
    expect(holder.bytes).toBe(0);
  });

  it("close its socket after a while, though it answers pings", async () => {
    const { socket, pushing } = await unread();
    for (let second = 0; second < 59; second += 1) {
      const [connection] = connections;
      const before = connection?.bytesRead ?? 0;
      socket.pong();
      await seen(() => (connection?.bytesRead ?? 0) > before);
      await clock.advance(1_000);
    }
    expect(closed).toEqual([]);
    await clock.advance(2_000);
    expect(closed).toEqual(["behind"]);
    for (const connection of connections) connection.destroy();
    expect(await Promise.all(pushing)).toEqual([false, false]);
    await seen(() => holder.bytes === 0);
    socket.terminate();
  });
});
