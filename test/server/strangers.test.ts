// The limits of connections, and the callers that are answered while strangers hold connections; against the real
// process.
import { once } from "node:events";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AttackTarget } from "../../bench/attacks/attack.ts";
import { openStranger } from "../../bench/attacks/strangers.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { openSocket, readToEnd } from "../support/raw-http.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const PLACES = 50;
const PER_ADDRESS = 30;
const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

let node: ScriptedNode;
let gateway: RunningGateway;
/** Functions that send the node's delayed answers. */
const held: (() => void)[] = [];

beforeAll(async () => {
  node = await startScriptedNode((call, response) => {
    if (call.method !== "eth_call") return result(call, '"0x10"');
    held.push(() => response.end(result(call, '"0x"')));
    return undefined;
  });
  gateway = await startGatewayProcess({
    limits: { connections: PLACES, connectionsPerAddress: PER_ADDRESS },
    admin: { listen: { port: 0 }, token: "a-token-of-the-tests" },
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [{ url: node.url, connections: 200 }],
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const target = (localAddress: string): AttackTarget => ({
  ...{ url: gateway.url, network: "main", key: "unknown" },
  localAddress,
});

type HttpReply = { status: number | undefined; id: unknown; socket: Socket; text: string };

/** Sends one request over the agent. */
async function ask(agent: Agent, path: string, body?: string): Promise<HttpReply> {
  const { hostname, port } = new URL(gateway.url);
  const headers = { "content-type": "application/json" };
  const method = body ? "POST" : "GET";
  const sent = request({ agent, hostname, port, path, method, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status, socket } = response;
  return {
    status,
    id: response.headers["x-request-id"],
    socket,
    text: String(Buffer.concat(chunks)),
  };
}

const callOver = (agent: Agent, body = CHAIN_ID): Promise<HttpReply> =>
  ask(agent, "/main/v1/test-key", body);

const connectionsOf = async (): Promise<Record<string, number>> => {
  const response = await fetch(`${gateway.metricsUrl}`, {
    headers: { authorization: "Bearer a-token-of-the-tests" },
  });
  const text = await response.text();
  const found = [...text.matchAll(/headgate_connections(?:_ended_total)?\{\w+="([^"]+)"\} (\d+)/g)];
  return Object.fromEntries(found.map(([, name, count]) => [name, Number(count)]));
};

/** Opens the strangers' connections at once, and keeps them open until `use` is over. */
async function beside(
  addresses: readonly string[],
  { count, word }: { count: number; word?: number },
  use: () => Promise<void>,
) {
  const over = new AbortController();
  const sockets = Array.from({ length: count }, (_, which) =>
    openStranger(target(addresses[which % addresses.length] ?? ""), word ?? which, over.signal),
  );
  try {
    await Promise.all(sockets.map((socket) => !socket.connecting || once(socket, "connect")));
    await use();
  } finally {
    over.abort();
  }
}

describe("strangers who keep their connections", () => {
  it.each([
    ["from one address, the callers' own", ["127.0.0.1"]],
    ["from many", ["127.0.0.2", "127.0.0.3", "127.0.0.4"]],
  ])("%s lock out neither callers nor health", async (_, addresses) => {
    const regular = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await callOver(regular);
    await beside(addresses, { count: 3 * PLACES }, async () => {
      const fresh = new Agent();
      for (let turn = 0; turn < 5; turn += 1) {
        expect(await callOver(fresh)).toMatchObject({ status: 200, id: expect.any(String) });
        expect(await ask(fresh, "/healthz")).toMatchObject({ status: 200, text: "ok\n" });
        // Over the connection that it has had from the beginning.
        expect((await callOver(regular)).socket).toBe(before.socket);
      }
      const { stranger = 0 } = await connectionsOf();
      expect(stranger).toBeLessThanOrEqual(0.8 * PLACES);
    });
    expect((await connectionsOf())["made room"]).toBeGreaterThan(0);
    regular.destroy();
  });

  it("are ended after their answer when places are scarce", async () => {
    await beside(["127.0.0.5", "127.0.0.6"], { count: PLACES, word: 0 }, async () => {
      const stranger = await openSocket(gateway.url);
      stranger.write("GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n");
      expect(await readToEnd(stranger)).toMatch(
        /^HTTP\/1.1 200 [\s\S]*Connection: close[\s\S]*ok\n$/,
      );
    });
  });
});

describe("callers with a key", () => {
  it("of one address have so many connections, and get others for those they do not use", async () => {
    const idle = new Agent({ keepAlive: true });
    await Promise.all(Array.from({ length: PER_ADDRESS }, () => callOver(idle)));
    const next = new Agent({ keepAlive: true });
    expect(await callOver(next)).toMatchObject({ status: 200 });
    idle.destroy();
    next.destroy();
    // These connections must be gone before the next test, whose connections have shown no key yet.
    await until("they have gone", async () => (await connectionsOf())["known"] === 0);
  });

  it("are told when all of their connections are in use, and health still is", async () => {
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x00000000219ab540356cbb839cbe05303d7705fa","data":"0xHEX"},"0x1"]}';
    const busy = new Agent();
    const calls = Array.from({ length: PER_ADDRESS }, (_, at) =>
      callOver(busy, body.replace("HEX", String(at + 10))),
    );
    await until("all are in use", async () => held.length === PER_ADDRESS);
    const socket = await openSocket(gateway.url);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1.1 429 [\s\S]*X-Request-Id: /);
    const other = new Agent({ localAddress: "127.0.0.9" } as object);
    expect(await ask(other, "/healthz")).toMatchObject({ status: 200 });
    expect(await callOver(other)).toMatchObject({ status: 200 });
    for (const answer of held.splice(0)) answer();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(
      Array(PER_ADDRESS).fill(200),
    );
  });
});

describe("every answer has a request id", () => {
  const say = async (url: string, text: string): Promise<string> => {
    const socket = await openSocket(url);
    socket.write(text);
    if (!/^(GET|OPTIONS|POST|CONNECT)/.test(text)) socket.end();
    return readToEnd(socket);
  };

  const close = "Connection: close\r\n";
  const requests: [string, string, number][] = [
    ["what is no HTTP", "nonsense\r\n\r\n", 400],
    [
      "headers too large",
      `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ["no Host", `GET /healthz HTTP/1.1\r\n${close}\r\n`, 400],
    ["two Hosts", `GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n${close}\r\n`, 400],
    ["the same Host twice", `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n${close}\r\n`, 400],
    ["HTTP/1.0 without a Host", "GET /healthz HTTP/1.0\r\n\r\n", 200],
    ["health", `GET /healthz HTTP/1.1\r\nHost: anything\r\n${close}\r\n`, 200],
    ["a path that is none", `GET /nope HTTP/1.1\r\nHost: 127.0.0.1\r\n${close}\r\n`, 404],
    ["an expectation", `GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n${close}\r\n`, 417],
    ["a tunnel", "CONNECT example.com:80 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405],
  ];

  /** Statuses that differ on the admin port: without a token no path is revealed, and HTTP/1.0 needs a Host. */
  const onAdmin: Record<string, number> = {
    "a path that is none": 401,
    "HTTP/1.0 without a Host": 400,
  };

  it.each(requests)("to %s", async (_, text, status) => {
    const answer = await say(gateway.url, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f]+-/i);
  });

  it.each(requests)("on the admin port to %s", async (what, text, status) => {
    const answer = await say(gateway.metricsUrl, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${onAdmin[what] ?? status} `));
    expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f]+-/i);
  });

  it("to a preflight", async () => {
    const text = `OPTIONS /main/v1/test-key HTTP/1.1\r\nHost: a\r\nOrigin: https://a.b\r\n${close}\r\n`;
    expect(await say(gateway.url, text)).toMatch(/^HTTP\/1.1 204 [\s\S]*X-Request-Id: /);
  });
});

it("strangers lock nobody out of the admin port", async () => {
  const over = new AbortController();
  const admin = { ...target("127.0.0.7"), url: gateway.metricsUrl };
  const sockets = Array.from({ length: 150 }, () => openStranger(admin, 0, over.signal));
  await Promise.all(sockets.map((socket) => !socket.connecting || once(socket, "connect")));
  expect((await fetch(gateway.metricsUrl.replace("metrics", "healthz"))).status).toBe(200);
  expect(await connectionsOf()).toHaveProperty("known");
  over.abort();
});

it("health and readiness are told on the admin port, without a token", async () => {
  const admin = gateway.metricsUrl.replace("/metrics", "");
  expect((await fetch(`${admin}/healthz`)).status).toBe(200);
  expect(await (await fetch(`${admin}/readyz`)).text()).toMatch(/^main: /); // "0x10" is no block
  expect((await fetch(`${admin}/status`)).status).toBe(401);
});
