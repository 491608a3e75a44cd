// The gateway counts memory that waits while it builds an answer, and releases it however the call ends.
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { missing, type NodeCall, result, startScriptedNode } from "../support/scripted-node.ts";
import { startSteppingNode } from "../support/stepping-node.ts";

const MB = 2 ** 20;
const ADDRESS = `0x${"22".repeat(20)}`;
/** The number of blocks in a segment, for which the gateway asks at once. */
const WIDTH = 2_000;
const BLOCKS = 3 * WIDTH;

const quantity = (number: number): string => `0x${number.toString(16)}`;
const logIn = (block: number) => ({
  ...{ address: ADDRESS, topics: [], data: `0x${"ab".repeat(MB / 2)}`, removed: false },
  ...{ blockNumber: quantity(block), blockHash: `0x${"cd".repeat(32)}`, logIndex: "0x0" },
  ...{ transactionHash: `0x${"ab".repeat(32)}`, transactionIndex: "0x0" },
});

/** The answers to the last segment, which the test completes or breaks off. */
const held: { readonly asked: NodeCall; readonly response: ServerResponse }[] = [];
let gateway: RunningGateway;
const running: { close(): Promise<unknown> }[] = [];

function answerLogs(asked: NodeCall, response: ServerResponse): string | undefined {
  const [{ fromBlock }] = asked.params as [{ fromBlock: string }];
  if (Number(fromBlock) < 2 * WIDTH)
    return result(asked, JSON.stringify([logIn(Number(fromBlock))]));
  held.push({ asked, response });
  return undefined;
}

beforeAll(async () => {
  const logs = await startScriptedNode((asked, response) => {
    if (asked.method === "eth_blockNumber") return result(asked, `"${quantity(BLOCKS)}"`);
    return asked.method === "eth_getLogs" ? answerLogs(asked, response) : missing(asked);
  });
  const steps = await startSteppingNode(250_000, 2);
  running.push(logs, steps);
  const network = { family: "evm", chainId: 1, window: { blocks: 0 } };
  const limits = { logs: { blocks: BLOCKS } };
  gateway = await startGatewayProcess({
    networks: {
      logs: { ...network, limits, upstreams: [{ url: logs.url }] },
      steps: { ...network, upstreams: [{ url: steps.url }] },
    },
  });
});

afterAll(async () => {
  await gateway?.stop();
  for (const each of running) await each.close();
});

const building = (): Promise<number> =>
  readGauge(gateway, "headgate_memory_waiting_bytes", 'kind="building"');
const nothingWaits = () =>
  until(
    "nothing waits any more",
    async () => (await readGauge(gateway, "headgate_memory_waiting_bytes")) === 0,
  );

/** Makes a call and waits until so many bytes of it wait; `leave` disconnects the caller. */
async function begin(network: string, method: string, params: readonly unknown[], bytes: number) {
  const caller = new AbortController();
  const answered = fetch(gateway.endpoint(network), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: caller.signal,
  }).then(async (response) => ({ status: response.status, text: await response.text() }));
  answered.catch(() => undefined);
  await until("it waits", async () => (await building()) >= bytes);
  return { answered, leave: () => caller.abort() };
}

describe("pieces of old logs", () => {
  const query = { fromBlock: "0x0", toBlock: quantity(BLOCKS - 1), address: ADDRESS };

  it.each([
    {
      how: "all are there",
      body: (asked: NodeCall) => result(asked, "[]"),
      status: 200,
      bytes: 2 * MB,
    },
    { how: "the node breaks off", body: () => undefined, status: 502, bytes: 0 },
    { how: "the caller leaves", body: "leave" as const, status: 0, bytes: 0 },
  ])("are counted until they are joined, and given back when $how", async (row) => {
    const call = await begin("logs", "eth_getLogs", [query], 2 * MB);
    if (row.body === "leave") call.leave();
    // The gateway asks a failed node again.
    const answering = setInterval(() => {
      for (const { asked, response } of held.splice(0)) {
        const body = row.body === "leave" ? undefined : row.body(asked);
        if (body === undefined) response.destroy();
        else response.end(body);
      }
    }, 10);
    const told = await call.answered.catch(() => ({ status: 0, text: "" }));
    clearInterval(answering);
    expect(told.status).toBe(row.status);
    expect(told.text.length).toBeGreaterThanOrEqual(row.bytes);
    await nothingWaits();
  });
});

describe("the steps of a trace that is read", () => {
  const replay = [`0x${"ab".repeat(32)}`, ["vmTrace"]];

  it("are counted as far as they are held, and given back when the caller leaves", async () => {
    const call = await begin("steps", "trace_replayTransaction", replay, MB);
    call.leave();
    await nothingWaits();
  });

  it("are counted as far as they are held, and given back when they are told", async () => {
    const { answered } = await begin("steps", "trace_replayTransaction", replay, MB);
    expect((await answered).status).toBe(200);
    await nothingWaits();
  });
});
