// Two keys, and two callers of one key, over a node with few connections that takes 200 ms for each answer.
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";

const ANSWERS_IN_MS = 200;
const CONNECTIONS = 8;
const DEADLINE_MS = 4_000;

let node: ScriptedNode;
let gateway: RunningGateway;
const open: Socket[] = [];

beforeAll(async () => {
  node = await startScriptedNode((call, response) => {
    if (call.method !== "eth_call") return result(call, '"0x10"');
    setTimeout(() => {
      response.writeHead(200, { "content-type": "application/json" }).end(result(call, '"0x01"'));
    }, ANSWERS_IN_MS);
    return undefined;
  });
  const upstreams = [{ url: node.url, connections: CONNECTIONS }];
  const network = { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams };
  gateway = await startGatewayProcess({
    timeouts: { call: `${DEADLINE_MS}ms` },
    listen: { trustedProxies: ["127.0.0.1"] },
    keys: [
      { name: "greedy", key: "greedy" },
      { name: "modest", key: "modest" },
    ],
    networks: { main: network },
  });
});

afterAll(async () => {
  for (const socket of open) socket.destroy();
  await gateway.stop();
  await node.close();
});

const bodyOf = (id: number): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "eth_call",
    params: [{ to: `0x${id.toString(16).padStart(40, "0")}` }, "0x5"],
  });

/** Sends so many calls over so many connections, all at once, and reads their answers. */
function storm(key: string, { calls, connections }: { calls: number; connections: number }) {
  const { hostname, port } = new URL(gateway.url);
  const path = new URL(gateway.endpoint("main", key)).pathname;
  const seen = { ok: 0, refused: 0, late: 0 };
  let id = 1_000_000;
  for (let index = 0; index < connections; index += 1) {
    const socket = connect(Number(port), hostname);
    open.push(socket);
    let text = "";
    for (let call = 0; call < calls / connections; call += 1) {
      const body = bodyOf(++id);
      text += `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    }
    socket.on("data", (data) => {
      const told = data.toString("latin1");
      seen.ok += told.split('"result":"0x01"').length - 1;
      seen.refused += told.split("HTTP/1.1 503").length - 1;
      seen.late += told.split("HTTP/1.1 504").length - 1;
    });
    socket.on("error", () => undefined);
    socket.write(text);
  }
  return seen;
}

/** Makes one call after the other. @returns The times by the stopwatch, in milliseconds, the longest first. */
async function timesOf(
  key: string,
  { count, from }: { count: number; from: string },
): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const elapsedMs = stopwatch(gateway.process);
    const response = await post(gateway.endpoint("main", key), bodyOf(++fresh), {
      "x-forwarded-for": from,
    });
    expect(await response.json()).toMatchObject({ result: "0x01" });
    times.push(elapsedMs());
  }
  return times.sort((a, b) => b - a);
}
let fresh = 0;

const waiting = (): Promise<number> => readGauge(gateway, "headgate_upstream_waiting");

it("of other keys nobody does: 6,000 calls of one key let another one pass", async () => {
  storm("greedy", { calls: 6_000, connections: 4 });
  await until("calls wait", async () => (await waiting()) > 100);
  const [slowest = 0] = await timesOf("modest", { count: 15, from: "192.0.2.1" });
  expect(slowest).toBeLessThan(3 * ANSWERS_IN_MS); // 150 s without turns
});

it("of the same key nobody does, from another address", async () => {
  const [slowest = 0] = await timesOf("greedy", { count: 10, from: "192.0.2.2" });
  expect(slowest).toBeLessThan(4 * ANSWERS_IN_MS);
});

it("waits for what would come too late: it is refused at once", async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await until("nobody waits", async () => (await waiting()) === 0);
  const elapsedMs = stopwatch(gateway.process);
  const each = storm("greedy", { calls: 400, connections: 100 });
  await until("some were refused", async () => each.refused > 0);
  expect(elapsedMs()).toBeLessThan(DEADLINE_MS / 2);
  await until("all were answered", async () => each.ok + each.refused + each.late === 400);
  const served = (DEADLINE_MS / ANSWERS_IN_MS) * CONNECTIONS;
  expect(each.ok).toBeGreaterThan(served / 2);
  const lines = gateway.log.filter(({ msg }) => msg?.includes("too many wait"));
  expect(lines).toHaveLength(1);
  expect(gateway.log.filter(({ msg }) => msg?.includes("too many calls wait"))).toEqual([]);
});
