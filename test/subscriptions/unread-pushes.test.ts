// Sockets that answer pings but read nothing, with many subscriptions each, and event streams that nobody reads, while
// blocks with large logs come: hardly anything is made for them, and what waits is counted.
import { once } from "node:events";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { memory } from "../../bench/process-cost.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const MB = 2 ** 20;
const SOCKETS = 6;
const SUBSCRIPTIONS = 10;
const STREAMS = 6;
const LATEST = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber" },
  params: ["latest", false],
});

let chain: GeneratedChain;
let node: ScriptedNode;
let gateway: RunningGateway;
let sockets: WebSocket[];
let streams: ClientRequest[];

beforeEach(async () => {
  sockets = [];
  streams = [];
  // 64 logs of 66 KB each as JSON.
  chain = new GeneratedChain({
    ...{ seed: 3, transactions: [4, 4], logs: [64, 64], dataWords: [1_024], blockSeconds: 0 },
  });
  chain.extend(2);
  node = await startScriptedNode((call) => {
    const json = answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  });
  gateway = await startGatewayProcess({
    limits: { memory: "256MiB" },
    networks: {
      main: { family: "evm", chainId: 1, window: { blocks: 16 }, upstreams: [{ url: node.url }] },
    },
  });
  await settled();
});

afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  for (const stream of streams) stream.destroy();
  await gateway.stop();
  await node.close();
});

const settled = (): Promise<unknown> =>
  until("the gateway has the head", async () => {
    const response = await post(gateway.endpoint("main"), LATEST);
    const { result: block } = (await response.json()) as { result?: { hash: string } };
    const isStored = response.headers.get("x-headgate-source") === "store";
    return isStored && block?.hash === chain.head.hash;
  });

/** A socket with log subscriptions, each with criteria of its own that match all logs. */
async function subscriber(number: number): Promise<WebSocket> {
  const url = gateway.endpoint("main").replace("http:", "ws:");
  const socket = new WebSocket(url, { perMessageDeflate: false });
  sockets.push(socket);
  await once(socket, "open");
  for (let own = 0; own < SUBSCRIPTIONS; own += 1) {
    const address = Array.from(
      { length: 1 + own + SUBSCRIPTIONS * number },
      () => chain.words.addresses[0],
    );
    const params = ["logs", { address: [...address, ...chain.words.addresses] }];
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: own, method: "eth_subscribe", params }));
    const [answer] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(String(answer))).toMatchObject({ id: own, result: expect.any(String) });
  }
  socket.pause();
  return socket;
}

/** Begins an event stream of all logs, and reads nothing of it but its head. */
async function openStream(): Promise<void> {
  const request = get(`${gateway.endpoint("main")}/events?stream=logs`);
  request.on("error", () => undefined);
  streams.push(request);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
}

/** The bytes of answers and notifications that callers have not taken. */
async function unsent(): Promise<number> {
  const text = await (await fetch(gateway.metricsUrl)).text();
  const [, bytes = "NaN"] =
    /^headgate_memory_waiting_bytes\{kind="unsent"\} (\S+)$/m.exec(text) ?? [];
  return Number(bytes);
}

it("hold little memory, all of it counted, and read on where they stopped", async () => {
  for (let number = 0; number < SOCKETS; number += 1) await subscriber(number);
  for (let number = 0; number < STREAMS; number += 1) await openStream();
  const before = memory(gateway.process.pid ?? 0).own;
  for (let block = 0; block < 6; block += 1) {
    chain.extend(1);
    await settled();
    for (const socket of sockets) socket.pong();
  }
  const after = memory(gateway.process.pid ?? 0).own;
  const held = await until("a notification waits for each", async () => {
    const bytes = await unsent();
    return bytes > (SOCKETS + STREAMS) * 66_000 ? bytes : undefined;
  });
  expect(held).toBeLessThan(48 * MB);
  expect(after - before).toBeLessThan(160 * MB);
  const [reader] = sockets;
  const counts = new Map<string, number>();
  reader?.on("message", (text: Buffer) => {
    const { params } = JSON.parse(String(text)) as { params: { subscription: string } };
    counts.set(params.subscription, (counts.get(params.subscription) ?? 0) + 1);
  });
  reader?.resume();
  await until("all logs came", async () => {
    const all = [...counts.values()];
    return all.length === SUBSCRIPTIONS && all.every((count) => count === 6 * 64);
  });
});
