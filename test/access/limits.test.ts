// Rates, quotas and concurrent calls over a real process, also over a process that is killed.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BATCH, COSTS, exhausted, type IsOver, load, passed, type Served } from "../fleet/load.ts";
import { ask, type Envelope, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const KEYS = [
  { name: "rated", key: "rated-key", rate: { computeUnits: 200 } },
  { name: "daily", key: "daily-key", computeUnits: { perDay: 500 } },
  { name: "killed", key: "killed-key", computeUnits: { perDay: 4000, perMonth: 1_000_000 } },
  { name: "lone", key: "lone-key", concurrentCalls: 2 },
];

let node: ScriptedNode;
/** Sends the answers that the node holds back. */
const held: (() => void)[] = [];
let folder: string;
const running: RunningGateway[] = [];

beforeAll(async () => {
  node = await startScriptedNode((call, response) => {
    const text = result(call, '"0x10"');
    if (call.method !== "eth_getStorageAt") return text;
    held.push(() => response.writeHead(200, { "content-type": "application/json" }).end(text));
    return undefined;
  });
  folder = await mkdtemp(join(tmpdir(), "headgate-limits-"));
});
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()));
  await node.close();
  await rm(folder, { recursive: true, force: true });
});

const start = async (more: object): Promise<RunningGateway> => {
  const networks = {
    one: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url: node.url }] },
  };
  const gateway = await startGatewayProcess({
    keys: KEYS,
    costs: COSTS,
    networks,
    ...more,
  });
  running.push(gateway);
  return gateway;
};

/** Runs four callers, each of which sends one batch after the other. */
const use = (url: string, isOver: IsOver): Promise<Served> => load([{ url, callers: 4 }], isOver);

describe("one gateway", () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await start({});
  });

  it("lets through what a rate allows under full load, within 1 %", async () => {
    const { units, seconds } = await use(gateway.endpoint("one", "rated-key"), passed(4000));
    expect(units).toBeLessThanOrEqual(200 + 200 * seconds * 1.01);
    expect(units).toBeGreaterThanOrEqual(200 * seconds * 0.99);
  });

  it("serves exactly the units of a day, and says when there are more", async () => {
    const url = gateway.endpoint("one", "daily-key");
    const { units } = await use(url, exhausted());
    expect(units).toBe(500);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
    const response = await post(url, body);
    const { error } = (await response.json()) as Envelope;
    const retryAfter = Number(response.headers.get("retry-after"));
    expect(response.status).toBe(429);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(86_400);
    expect(error).toMatchObject({
      code: -32005,
      data: { limit: 500, remaining: 0, retryAfter, rule: "day" },
    });
    const names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    expect(names.map((name) => response.headers.get(name))).toEqual(["500", "0", `${retryAfter}`]);
  });

  it("answers no more calls at the same time than a key has, and others when those are over", async () => {
    const url = gateway.endpoint("one", "lone-key");
    const storageAt = (slot: string): Promise<Envelope> =>
      ask(url, "eth_getStorageAt", [`0x${"11".repeat(20)}`, slot, "0x1"]);
    const both = ["0x1", "0x2"].map(storageAt);
    await until("the node has both", async () => held.length === 2);
    for (const slot of ["0x3", "0x4"]) {
      const { error } = await storageAt(slot);
      expect(error).toMatchObject({
        code: -32005,
        data: { rule: "concurrent", limit: 2, remaining: 0, retryAfter: 1 },
      });
    }
    held.shift()?.();
    await Promise.race(both);
    const third = storageAt("0x5");
    await until("the node has another one", async () => held.length === 2);
    expect((await storageAt("0x6")).error?.code).toBe(-32005);
    for (const answer of held.splice(0)) answer();
    for (const { result: word } of await Promise.all([...both, third])) expect(word).toBe("0x10");
  });

  it("counts each call of a batch", async () => {
    const calls = ["0x7", "0x8", "0x9"].map((slot, id) => ({
      ...{ jsonrpc: "2.0", id, method: "eth_getStorageAt" },
      params: [`0x${"11".repeat(20)}`, slot, "0x1"],
    }));
    const answered = post(gateway.endpoint("one", "lone-key"), JSON.stringify(calls));
    await until("the node has two of them", async () => held.length === 2);
    for (const answer of held.splice(0)) answer();
    const members = (await (await answered).json()) as Envelope[];
    expect(members.map(({ error }) => error?.code)).toEqual([undefined, undefined, -32005]);
  });
});

it("keeps to the units of a day when it is killed", async () => {
  const data = join(folder, "killed");
  const first = await start({ data });
  const before = await use(first.endpoint("one", "killed-key"), passed(700));
  first.process.kill("SIGKILL");
  await once(first.process, "exit");
  const second = await start({ data });
  const rest = await use(second.endpoint("one", "killed-key"), exhausted());
  expect(before.units + rest.units).toBeLessThanOrEqual(4000);
  // The killed process loses its reservation, which is less than it uses in a second.
  const usedInASecond = before.units / before.seconds;
  expect(before.units + rest.units).toBeGreaterThanOrEqual(4000 - Math.max(usedInASecond, BATCH));
});
