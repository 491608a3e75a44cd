// WebSocket beside HTTP: the same calls, keys, limits and refusals, and the abuse of frames.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Envelope } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const LONG = `0x${"60".repeat(300_000)}`;
const SHA3 = '{"jsonrpc":"2.0","id":7,"method":"web3_sha3","params":["0x"]}';
const EMPTY_HASH = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
const ADDRESS = `0x${"11".repeat(20)}`;

/** Calls that the node answers when the test releases them. */
const held: { call: NodeCall; response: ServerResponse }[] = [];
const release = (): void => {
  for (const { call, response } of held.splice(0)) response.end(result(call, '"0x1234"'));
};

const script = (call: NodeCall, response: ServerResponse): string | undefined => {
  if (call.method === "eth_getCode") return result(call, `"${LONG}"`);
  if (call.method === "eth_getBalance") {
    held.push({ call, response });
    return undefined;
  }
  return result(call, '"0x10"');
};

let node: ScriptedNode;
let gateway: RunningGateway;

const settings = (keys: readonly object[] = []) => ({
  limits: { body: "64KiB", webSocket: { connections: 3, messages: 20 } },
  keys: [
    { name: "test", key: "test-key" },
    { name: "old", key: "old-key", expires: "2020-01-01T00:00:00Z" },
    { name: "page", key: "page-key", origins: ["https://*.example.com"] },
    { name: "narrow", key: "narrow-key", methods: ["web3_*"] },
    { name: "poor", key: "poor-key", rate: { computeUnits: 1, burst: 1 } },
    ...keys,
  ],
  networks: {
    main: { family: "evm", chainId: 1, upstreams: [{ url: node.url }] },
  },
});

beforeAll(async () => {
  node = await startScriptedNode(script);
  gateway = await startGatewayProcess(settings([{ name: "leaving", key: "leaving-key" }]));
});

afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  await node.close();
});

const urlFor = (key = "test-key", from = gateway): string =>
  from.endpoint("main", key).replace("http:", "ws:");

async function opened(url = urlFor(), options: object = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, options);
  await once(socket, "open");
  return socket;
}

const isAdmitted = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url);
    socket.on("error", () => resolve(false));
    socket.on("open", () => {
      socket.terminate();
      resolve(true);
    });
  });

/** The status and the error of a refused handshake. */
async function refusalOf(url: string, options: object = {}): Promise<[number, unknown]> {
  const socket = new WebSocket(url, options);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  expect(response.headers["x-request-id"]).toMatch(/^[0-9a-f]+-/);
  const [{ error }] = (await response.toArray()).map((chunk) => JSON.parse(String(chunk)));
  return [response.statusCode ?? 0, error];
}

async function next(socket: WebSocket): Promise<Envelope> {
  const [data] = (await once(socket, "message")) as [Buffer];
  return JSON.parse(data.toString()) as Envelope;
}

async function asked(socket: WebSocket, body: string): Promise<Envelope> {
  const answer = next(socket);
  socket.send(body);
  return answer;
}

const closeOf = async (socket: WebSocket): Promise<[number, string]> => {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return [code, reason.toString()];
};

const callText = (id: number, method: string, params: readonly unknown[] = []): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe("over a socket", () => {
  let socket: WebSocket;
  beforeAll(async () => {
    socket = await opened();
  });
  afterAll(() => socket.close());

  it("a call is answered as over HTTP", async () => {
    expect(await asked(socket, SHA3)).toEqual({ jsonrpc: "2.0", id: 7, result: EMPTY_HASH });
    expect(await asked(socket, callText(8, "nope"))).toMatchObject({
      id: 8,
      error: { code: -32601 },
    });
  });

  it("a batch is answered in one message", async () => {
    const answers = await asked(socket, `[${SHA3},${callText(9, "eth_chainId")}]`);
    expect(answers).toMatchObject([
      { id: 7, result: EMPTY_HASH },
      { id: 9, result: "0x1" },
    ]);
  });

  it.each([
    ["", -32700],
    ["{", -32700],
    ["[]", -32600],
    ["1", -32600],
  ])("what is no call is refused: %s", async (body, code) => {
    expect(await asked(socket, body)).toMatchObject({ id: null, error: { code } });
  });

  it("a call does not wait for the one before it", async () => {
    const slow = callText(1, "eth_getBalance", [ADDRESS, "latest"]);
    socket.send(slow);
    expect(await asked(socket, SHA3)).toMatchObject({ id: 7 });
    await until("the node is asked", async () => held.length > 0);
    const answer = next(socket);
    release();
    expect(await answer).toMatchObject({ id: 1, result: "0x1234" });
  });

  it("a large answer comes whole, and small ones do not come into it", async () => {
    const answers: Envelope[] = [];
    const both = new Promise<void>((resolve) => {
      socket.on("message", (data) => {
        answers.push(JSON.parse(String(data)) as Envelope);
        if (answers.length === 2) resolve();
      });
    });
    socket.send(callText(1, "eth_getCode", [ADDRESS, "latest"]));
    socket.send(SHA3);
    await both;
    socket.removeAllListeners("message");
    expect(new Map(answers.map(({ id, result: json }) => [id, json]))).toEqual(
      new Map([
        [1, LONG],
        [7, EMPTY_HASH],
      ]),
    );
  });

  it("a message may come in fragments", async () => {
    const answer = next(socket);
    socket.send(SHA3.slice(0, 10), { fin: false });
    socket.send(SHA3.slice(10), { fin: true });
    expect(await answer).toMatchObject({ id: 7, result: EMPTY_HASH });
  });
});

describe("a handshake is refused as a request is", () => {
  it.each([
    ["an unknown key", "unknown-key", {}, 401, -32000],
    ["an expired key", "old-key", {}, 401, -32000],
    ["a foreign page", "page-key", { origin: "https://evil.example" }, 403, -32002],
  ])("%s", async (_, key, options, status, code) => {
    expect(await refusalOf(urlFor(key), options)).toMatchObject([status, { code }]);
  });

  it("no key, an unknown network, an unknown path", async () => {
    const base = gateway.url.replace("http:", "ws:");
    expect(await refusalOf(`${base}/main/v1`)).toMatchObject([401, { code: -32000 }]);
    expect(await refusalOf(`${base}/other/v1/test-key`)).toMatchObject([404, { code: -32600 }]);
    expect(await refusalOf(`${base}/somewhere`)).toMatchObject([404, { code: -32600 }]);
  });

  it("a page that the key is for gets in", async () => {
    const socket = await opened(urlFor("page-key"), { origin: "https://app.example.com" });
    expect(await asked(socket, SHA3)).toMatchObject({ id: 7 });
    socket.close();
  });

  it("one more than a key may have", async () => {
    const url = urlFor("narrow-key");
    const sockets = await Promise.all([opened(url), opened(url), opened(url)]);
    const rule = { rule: "webSockets", limit: 3 };
    expect(await refusalOf(url)).toMatchObject([429, { code: -32005, data: rule }]);
    sockets[0].close();
    await once(sockets[0], "close");
    const again = await until("there is room again", () => opened(url).catch(() => undefined));
    for (const socket of [...sockets, again]) socket.terminate();
  });

  it("what is no WebSocket handshake", async () => {
    const lines = [
      "GET /main/v1/test-key HTTP/1.1",
      "Host: localhost",
      "Connection: upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
    ];
    const answer = await rawAnswer(lines);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":-32600');
  });

  it("another protocol that is offered is passed over", async () => {
    const lines = [
      "POST /main/v1/test-key HTTP/1.1",
      "Host: localhost",
      "Connection: upgrade, close",
      "Upgrade: h2c",
      "Content-Type: application/json",
      `Content-Length: ${SHA3.length}`,
    ];
    expect(await rawAnswer(lines, SHA3)).toContain(EMPTY_HASH);
  });
});

/** All bytes until the connection ends. */
async function rawAnswer(lines: readonly string[], body = ""): Promise<string> {
  const socket = plainSocket();
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return Buffer.concat(await socket.toArray()).toString();
}

function plainSocket(): Socket {
  const { hostname, port } = new URL(gateway.url);
  return connect(Number(port), hostname);
}

describe("a key's rules hold", () => {
  it("for its methods", async () => {
    const socket = await opened(urlFor("narrow-key"));
    expect(await asked(socket, SHA3)).toMatchObject({ id: 7, result: EMPTY_HASH });
    const refused = { code: -32004, data: { rule: "methods" } };
    expect(await asked(socket, callText(1, "eth_chainId"))).toMatchObject({
      id: 1,
      error: refused,
    });
    socket.close();
  });

  it("for its rate", async () => {
    const socket = await opened(urlFor("poor-key"));
    expect(await asked(socket, SHA3)).toHaveProperty("result");
    const refused = { code: -32005, data: { rule: "rate" } };
    expect(await asked(socket, SHA3)).toMatchObject({ id: 7, error: refused });
    socket.close();
  });

  it("for its messages a second", async () => {
    const socket = await opened(urlFor("page-key"), { origin: "https://app.example.com" });
    const answers: Envelope[] = [];
    const all = new Promise<void>((resolve) => {
      socket.on("message", (data) => {
        answers.push(JSON.parse(String(data)) as Envelope);
        if (answers.length === 300) resolve();
      });
    });
    for (let id = 0; id < 300; id += 1) socket.send(callText(id, "eth_chainId"));
    await all;
    const refused = answers.filter(({ error }) => error?.code === -32005);
    // The rate allows 200 at once, and 20 more with each second that the test takes.
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(100);
    expect(refused[0]).toMatchObject({ error: { data: { rule: "messages", limit: 20 } } });
    expect(new Set(answers.map(({ id }) => id)).size).toBe(300);
    socket.close();
  });

  it("until it is taken away: the socket is closed, also one that is silent", async () => {
    const socket = await opened(urlFor("leaving-key"));
    expect(await asked(socket, SHA3)).toHaveProperty("result");
    const closed = closeOf(socket);
    await gateway.reload(settings());
    expect(await closed).toEqual([4001, "key revoked"]);
  });
});

it("a call in a binary frame is answered in a text frame, whole or in fragments", async () => {
  const socket = await opened();
  for (const fragments of [[SHA3], [SHA3.slice(0, 20), SHA3.slice(20)]]) {
    const heard = once(socket, "message");
    for (const [at, part] of fragments.entries())
      socket.send(Buffer.from(part), { binary: true, fin: at === fragments.length - 1 });
    const [answer, isBinary] = await heard;
    expect(JSON.parse(String(answer))).toHaveProperty("result");
    expect(isBinary).toBe(false);
  }
  socket.close();
});

describe("frames that are no messages of ours", () => {
  it("binary ones that are not UTF-8", async () => {
    const socket = await opened();
    socket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: true });
    expect(await closeOf(socket)).toEqual([1007, "a message is not UTF-8"]);
  });

  it("binary ones larger than a body may be", async () => {
    const socket = await opened();
    socket.send(Buffer.from(`"${"x".repeat(70_000)}"`), { binary: true });
    expect((await closeOf(socket))[0]).toBe(1009);
  });

  it("one larger than a body may be", async () => {
    const socket = await opened();
    socket.send(`"${"x".repeat(70_000)}"`);
    expect((await closeOf(socket))[0]).toBe(1009);
  });

  it("fragments that are larger together", async () => {
    const socket = await opened();
    for (let sent = 0; sent < 3; sent += 1) socket.send("x".repeat(30_000), { fin: false });
    expect((await closeOf(socket))[0]).toBe(1009);
  });

  it("text that is not UTF-8", async () => {
    const socket = await opened();
    socket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: false });
    expect((await closeOf(socket))[0]).toBe(1007);
  });

  it("frames without a mask", async () => {
    const socket = await opened();
    const { _socket: plain } = socket as unknown as { _socket: Socket };
    plain.write(Buffer.concat([Buffer.from([0x81, SHA3.length]), Buffer.from(SHA3)]));
    expect((await closeOf(socket))[0]).toBe(1002);
  });

  it("a flood of pings", async () => {
    const socket = await opened();
    const closed = closeOf(socket);
    for (let sent = 0; sent < 5_000; sent += 1) socket.ping();
    expect((await closed)[0]).toBe(1006);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    const closes = metrics.split("\n").filter((line) => line.startsWith("headgate_websockets_cl"));
    expect(closes).toContain('headgate_websockets_closed_total{why="flood"} 1');
  });
});

describe("a caller that is gone", () => {
  it("is cut off when it gives no sign of life", async () => {
    const impatient = await startGatewayProcess({ ...settings(), timeouts: { ping: "1s" } });
    const socket = await opened(urlFor("test-key", impatient), { autoPong: false });
    expect((await closeOf(socket))[0]).toBe(1006);
    await impatient.stop();
  });

  it("is kept while it gives signs of life, and let go when it asks nothing", async () => {
    const timeouts = { ping: "1s", webSocketIdle: "4s" };
    const impatient = await startGatewayProcess({ ...settings(), timeouts });
    const socket = await opened(urlFor("test-key", impatient));
    expect(await closeOf(socket)).toEqual([1001, "idle"]);
    await impatient.stop();
  });

  it("is cut off when it does not take its answers, which are few while they wait", async () => {
    const limits = { ...settings().limits, reading: { over: "1s" } };
    const strict = await startGatewayProcess({ ...settings(), limits });
    const socket = await opened(urlFor("test-key", strict));
    const closed = closeOf(socket);
    const before = node.calls.length;
    for (let id = 0; id < 150; id += 1)
      socket.send(
        callText(id, "eth_getCode", [`0x${id.toString(16).padStart(40, "0")}`, "latest"]),
      );
    socket.pause();
    await until("it is cut off", async () => {
      const metrics = await (await fetch(strict.metricsUrl)).text();
      return metrics.includes('headgate_answers_cut_total{why="slow"} 1');
    });
    // 64 calls at once, and as many as fit into the machine's own buffers.
    expect(node.calls.length - before).toBeLessThan(120);
    socket.resume();
    expect((await closed)[0]).toBe(1006);
    await strict.stop();
  });

  it("when the gateway stops it is answered, and told", async () => {
    const stopping = await startGatewayProcess(settings());
    const socket = await opened(urlFor("test-key", stopping));
    socket.send(callText(1, "eth_getBalance", [ADDRESS, "latest"]));
    await until("the node is asked", async () => held.length > 0);
    const answer = next(socket);
    const closed = closeOf(socket);
    const stopped = stopping.stop();
    const url = urlFor("test-key", stopping);
    await until("nobody is admitted", async () => !(await isAdmitted(url)));
    release();
    expect(await answer).toMatchObject({ id: 1, result: "0x1234" });
    expect(await closed).toEqual([1012, "restarting"]);
    expect(await stopped).toBe(0);
  });
});
