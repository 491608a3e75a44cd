// Very many sockets, and callers that begin a handshake or message and do not complete it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { memory } from "../../bench/process-cost.ts";
import { readGauge } from "../faults/watch.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";
import { CutConnection } from "./cut-connection.ts";

const MB = 2 ** 20;
const IDLE = 10_000;
const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
const BALANCE = `{"jsonrpc":"2.0","id":2,"method":"eth_getBalance","params":["0x${"11".repeat(20)}","latest"]}`;

let node: ScriptedNode;
let gateway: RunningGateway;
let children: ChildProcess[];
/** Whether the node leaves calls unanswered. */
let isHanging: boolean;

const keys = (names: readonly string[]) => names.map((name) => ({ name, key: `${name}-key` }));
const settings = (names: readonly string[], more: object = {}) => ({
  log: { level: "info" },
  limits: {
    connections: 15_000,
    connectionsPerAddress: 15_000,
    webSocket: { connections: 15_000, messages: 10_000 },
  },
  keys: keys(names),
  networks: {
    main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url: node.url }] },
  },
  ...more,
});

beforeEach(async () => {
  children = [];
  isHanging = false;
  const scripted = await startScriptedNode((call) =>
    isHanging && call.method === "eth_getBalance" ? undefined : result(call, '"0x10"'),
  );
  node = scripted;
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  if (gateway.process.exitCode === null) await gateway.stop();
  await node.close();
});

const start = async (more: object = {}): Promise<void> => {
  gateway = await startGatewayProcess(settings(["test", "other"], more));
};
const urlOf = (key: string): string => gateway.endpoint("main", key).replace("http:", "ws:");
const openNow = (): Promise<number> => readGauge(gateway, "headgate_websockets");

async function opened(key = "test-key", options: object = {}): Promise<WebSocket> {
  const socket = new WebSocket(urlOf(key), options);
  socket.on("error", () => undefined);
  await once(socket, "open");
  return socket;
}

async function answered(socket: WebSocket): Promise<unknown> {
  const heard = once(socket, "message");
  socket.send(CHAIN_ID);
  return JSON.parse(String((await heard)[0]));
}

describe("ten thousand idle sockets", () => {
  it("take less than 300 MB, and others are served beside them", async () => {
    await start();
    for (let part = 0; part < 2; part += 1) {
      const args = ["test/subscriptions/many-sockets.ts", urlOf("test-key"), `${IDLE / 2}`];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      const [said] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [
        Buffer,
      ];
      expect(String(said)).toBe("open\n");
    }
    expect(await openNow()).toBe(IDLE);
    const socket = await opened("other-key");
    expect(await answered(socket)).toMatchObject({ result: "0x1" });
    const taken = memory(gateway.process.pid ?? 0);
    expect(taken.all).toBeLessThan(300 * MB);
    for (const child of children) child.kill("SIGKILL");
    await until("they are gone", async () => (await openNow()) === 1);
    expect(await answered(socket)).toMatchObject({ result: "0x1" });
    socket.terminate();
  });

  it("give no sign of life, and are closed", async () => {
    await start({ timeouts: { ping: "1s" } });
    const deaf = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const connection = new CutConnection(Number(new URL(gateway.url).port));
        const socket = await opened("test-key", { createConnection: () => connection });
        connection.cut({ outBytes: 0 });
        return once(socket, "close");
      }),
    );
    await Promise.all(deaf);
    expect(await readGauge(gateway, "headgate_websockets_closed_total", "silent")).toBe(200);
  });
});

describe("callers that begin, and do not go on", () => {
  const handshake = (key: string): string =>
    `GET /main/v1/${key} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;

  /** A connection that sends all but the last bytes at once, and then one byte a second. */
  const dribbling = (text: string): Socket => {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(text.slice(0, -8));
    let at = text.length - 8;
    const timer = setInterval(() => {
      socket.write(text[at] ?? "x");
      at += 1;
    }, 1_000);
    socket.on("close", () => clearInterval(timer));
    return socket;
  };

  /** Resolves when the socket is closed, also by a reset. */
  const closed = (socket: Socket): Promise<void> =>
    new Promise((resolve) => socket.on("close", () => resolve()));

  it("with a handshake that never ends: they are cut, and others get in meanwhile", async () => {
    await start({ timeouts: { headers: "2s" } });
    const slow = Array.from({ length: 1_000 }, () => dribbling(handshake("test-key")));
    const ends = Promise.all(slow.map(closed));
    await Promise.all(slow.map((each) => once(each, "connect")));
    const socket = await opened();
    expect(await answered(socket)).toMatchObject({ result: "0x1" });
    socket.terminate();
    await ends;
    await until(
      "they are gone",
      async () => (await readGauge(gateway, "headgate_connections")) === 0,
    );
  });

  it("with a message that never ends: it is cut in the time of a body", async () => {
    await start({ timeouts: { body: "2s" } });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => opened()));
    const ends = Promise.all(sockets.map((socket) => once(socket, "close")));
    for (const socket of sockets) socket.send("x".repeat(1_000), { fin: false });
    await ends;
    expect(await readGauge(gateway, "headgate_websockets_closed_total", "late")).toBe(100);
    expect(await readGauge(gateway, "headgate_memory_waiting_bytes")).toBe(0);
  });

  it("with sockets that are dropped as soon as they are open, and before", async () => {
    await start();
    const before = memory(gateway.process.pid ?? 0);
    const port = Number(new URL(gateway.url).port);
    const text = `${handshake("test-key")}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
    for (let turn = 0; turn < 50; turn += 1) {
      const dropped = Array.from({ length: 100 }, (_, index) => {
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => undefined);
        socket.on("connect", () => {
          socket.write(text.slice(0, index % 2 === 0 ? text.length : index));
          if (index % 3 === 0) socket.resetAndDestroy();
          else socket.end();
        });
        socket.resume();
        return closed(socket);
      });
      await Promise.all(dropped);
    }
    await until("none is left", async () => (await openNow()) === 0);
    await until(
      "none is left",
      async () => (await readGauge(gateway, "headgate_connections")) === 0,
    );
    const after = memory(gateway.process.pid ?? 0);
    expect(after.own - before.own).toBeLessThan(80 * MB);
    expect(gateway.process.exitCode).toBeNull();
  });
});

describe("while messages are answered", () => {
  /** Sockets of the key, each with a call that the node does not answer. */
  const asking = async (key: string, count: number) => {
    const sockets = await Promise.all(Array.from({ length: count }, () => opened(key)));
    const before = node.calls.length;
    for (const socket of sockets) socket.send(BALANCE);
    await until("a node is asked", async () => node.calls.length > before);
    return sockets;
  };
  const closes = (sockets: readonly WebSocket[]): Promise<number[]> =>
    Promise.all(sockets.map(async (socket) => (await once(socket, "close"))[0] as number));

  it("a key is revoked: its sockets are closed, those of others are not", async () => {
    await start();
    isHanging = true;
    const leaving = await asking("test-key", 50);
    const staying = await opened("other-key");
    const codes = closes(leaving);
    await gateway.reload(settings(["other"]));
    expect(new Set(await codes)).toEqual(new Set([4001]));
    expect(await answered(staying)).toMatchObject({ result: "0x1" });
    staying.terminate();
  });

  it("the configuration is read again and again, and the gateway stops in time", async () => {
    await start({ timeouts: { drain: "1s" } });
    isHanging = true;
    const sockets = await asking("test-key", 50);
    const other = await opened("other-key");
    const codes = closes([...sockets, other]);
    for (let turn = 0; turn < 5; turn += 1) {
      await gateway.reload(
        settings(["test", "other"], { timeouts: { drain: "1s", call: `${turn + 20}s` } }),
      );
      expect(await answered(other)).toMatchObject({ result: "0x1" });
    }
    const elapsedMs = stopwatch(gateway.process);
    expect(await gateway.stop()).toBe(0);
    expect(elapsedMs()).toBeLessThan(10_000);
    // 1006: closed with an unanswered call.
    expect(new Set(await codes)).toEqual(new Set([1006, 1012]));
  });

  it("a second signal ends it at once", async () => {
    await start({ timeouts: { drain: "50s" } });
    isHanging = true;
    const sockets = await asking("test-key", 50);
    const codes = closes(sockets);
    const ended = once(gateway.process, "exit");
    gateway.process.kill("SIGTERM");
    const elapsedMs = stopwatch(gateway.process);
    // The gateway ignores a second signal within a second of the first one.
    const timer = setInterval(() => gateway.process.kill("SIGTERM"), 300);
    await ended;
    clearInterval(timer);
    expect(elapsedMs()).toBeLessThan(5_000);
    expect(new Set(await codes)).toEqual(new Set([1006]));
  });
});
