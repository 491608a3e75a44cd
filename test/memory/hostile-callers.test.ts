// Hostile callers that use up memory, over the real process: the memory that the gateway holds for them, and whether it
// answers others meanwhile.
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { memory } from "../../bench/process-cost.ts";
import { readGauge } from "../faults/watch.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { openSocket } from "../support/raw-http.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";

const MB = 2 ** 20;
/** The most anonymous memory of the process, which has above 100 MB without an attack. */
const MOST_BYTES = 400 * MB;
/** Blocks of 300 logs each: a query for all of them is near the most logs of one answer. */
const BLOCKS = 30;
const LARGE = JSON.stringify(`0x${"ab".repeat(MB / 2)}`);
/** An answer that the gateway reads however much waits. */
const MIDDLING = JSON.stringify(`0x${"ab".repeat(30_000)}`);
const isMiddling = ([address]: readonly unknown[]): boolean => String(address).startsWith("0x2");

const chain = new GeneratedChain({ seed: 5, transactions: [4, 4], logs: [300, 300], busy: 1 });
const query = {
  fromBlock: `0x${(1).toString(16)}`,
  toBlock: `0x${BLOCKS.toString(16)}`,
};
const origin = "https://app.example";

let chainNode: ScriptedNode;
let largeNode: ScriptedNode;
let gateway: RunningGateway;
const sockets: Socket[] = [];

const ask = (network: string, body: unknown, headers: Record<string, string> = {}, key?: string) =>
  fetch(gateway.endpoint(network, key), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const call = (id: number, method: string, params: readonly unknown[]) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const batchOf = (count: number, method: string, params: (id: number) => readonly unknown[]) =>
  Array.from({ length: count }, (_, id) => call(id, method, params(id)));
const logQueries = (count: number) => batchOf(count, "eth_getLogs", () => [query]);

const evm = { family: "evm", chainId: 1 };
const settings = (limits: object) => ({
  log: { level: "info" },
  keys: [
    { name: "test", key: "test-key" },
    { name: "storm", key: "storm-key" },
    {
      name: "page",
      key: "page-key",
      profile: "browser",
      origins: [origin],
      rate: { computeUnits: 10_000 },
    },
  ],
  limits: { reading: { atLeast: "10KiB", over: "3s" }, ...limits },
  networks: {
    stored: { ...evm, upstreams: [{ url: chainNode.url }], window: { blocks: BLOCKS } },
    passed: { ...evm, upstreams: [{ url: largeNode.url }], window: { blocks: 0 } },
  },
});

beforeAll(async () => {
  chain.extend(BLOCKS);
  chainNode = await startGeneratedNode(chain);
  largeNode = await startScriptedNode((asked) =>
    asked.method === "eth_getCode"
      ? result(asked, isMiddling(asked.params) ? MIDDLING : LARGE)
      : missing(asked),
  );
  gateway = await startGatewayProcess(settings({}));
  await until("the window is full", async () => {
    const response = await ask("stored", call(1, "eth_getLogs", [query]));
    await response.arrayBuffer();
    return response.headers.get("x-headgate-source") === "store";
  });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await until("nothing waits any more", async () => (await waiting()) < MB);
});

afterAll(async () => {
  await gateway?.stop();
  await Promise.all([chainNode?.close(), largeNode?.close()]);
});

/** Sends a batch on a connection of its own, and never reads the answer. */
async function sendUnread(
  network: string,
  batch: readonly object[],
  { key = "test-key", headers = "" } = {},
): Promise<void> {
  const socket = await openSocket(gateway.url);
  sockets.push(socket);
  socket.on("error", () => undefined);
  socket.pause();
  const body = JSON.stringify(batch);
  socket.write(
    `POST /${network}/v1/${key} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n` +
      `${headers}Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}

const ownBytes = (): number => memory(gateway.process.pid ?? 0).own;
const waiting = (): Promise<number> => readGauge(gateway, "headgate_memory_waiting_bytes");
/** The waiting bytes after all that arrives has arrived. */
async function whatWaitsInTheEnd(): Promise<number> {
  let before = 0;
  return until("what waits no longer grows", async () => {
    const arriving = await readGauge(gateway, "headgate_memory_waiting_bytes", 'kind="arriving"');
    const now = await waiting();
    const isAll = arriving === 0 && now === before;
    before = now;
    return isAll && now > MB / 2 && now;
  });
}

const cut = (): Promise<number> => readGauge(gateway, "headgate_answers_cut_total", 'why="slow"');

/**
 * Samples memory and the health of the gateway, until it has cut off so many more of the callers and holds nothing for
 * them. @returns The most memory.
 */
async function watchUntilCut(count: number): Promise<number> {
  const before = await cut();
  let most = 0;
  await until("those who take nothing are cut off", async () => {
    most = Math.max(most, ownBytes());
    expect(most).toBeLessThan(MOST_BYTES);
    const elapsedMs = stopwatch(gateway.process);
    expect(await (await fetch(`${gateway.url}/healthz`)).text()).toBe("ok\n");
    expect(elapsedMs()).toBeLessThan(2_000);
    return (await cut()) >= before + count && (await waiting()) < MB;
  });
  return most;
}

describe("callers who take nothing of large answers", () => {
  it("are cut off, and made the gateway hold little: batches of log queries of the store", async () => {
    const page = { key: "page-key", headers: `Origin: ${origin}\r\n` };
    await Promise.all([
      ...Array.from({ length: 6 }, () => sendUnread("stored", logQueries(100))),
      ...Array.from({ length: 2 }, () => sendUnread("stored", logQueries(20), page)),
    ]);
    await watchUntilCut(8);
  });

  it("are cut off, and made the gateway hold little: batches that nodes answer at length", async () => {
    const codes = (caller: number) =>
      batchOf(60, "eth_getCode", (id) => [
        `0x${(caller * 100 + id).toString(16).padStart(40, "0")}`,
        "0x1",
      ]);
    await Promise.all(
      Array.from({ length: 12 }, (_, caller) => sendUnread("passed", codes(caller))),
    );
    // The number of immediate refusals, because too much waits, depends on the moment.
    await watchUntilCut(1);
  });
});

type Member = { id: number; result?: readonly object[]; error?: { code: number; data?: object } };

describe("a batch of large answers", () => {
  it.each([
    { what: "as it is", headers: {}, key: "test-key", limit: 50 * MB },
    { what: "compressed", headers: { "accept-encoding": "gzip" }, key: "test-key", limit: 50 * MB },
    { what: "to a page", headers: { origin }, key: "page-key", limit: 10 * MB },
  ])("is in order and whole up to its limit, $what", async ({ headers, key, limit }) => {
    const response = await ask("stored", logQueries(15), headers, key);
    const text = await response.text();
    const members = JSON.parse(text) as Member[];
    expect(members.map(({ id }) => id)).toEqual(Array.from({ length: 15 }, (_, id) => id));
    const [first] = members;
    expect(first?.result?.length).toBe(BLOCKS * 300);
    const bytes = JSON.stringify(first).length;
    const fitting = Math.floor(limit / bytes);
    expect(members.filter((member) => member.result).length).toBe(fitting);
    expect(members[fitting]?.error).toMatchObject({
      code: -32005,
      data: { rule: "batchResponse", limit },
    });
  });

  it("is the same byte for byte as what the node wrote", async () => {
    const direct = await (
      await fetch(chainNode.url, {
        method: "POST",
        body: JSON.stringify(call(7, "eth_getLogs", [query])),
      })
    ).text();
    const [own] = JSON.parse(await (await ask("stored", logQueries(2))).text());
    expect(own.result).toEqual(JSON.parse(direct).result);
  });
});

describe("while too much waits in memory", () => {
  it("large work is refused with 503 first, and cheap calls are answered", async () => {
    const patient = { reading: { atLeast: "10KiB", over: "60s" } };
    await gateway.reload(settings(patient));
    const code = (id: number) => [`0x${id.toString(16).padStart(40, "1")}`, "0x1"];
    await sendUnread("passed", batchOf(20, "eth_getCode", code));
    const last = JSON.stringify(code(19));
    await until("all of it was asked of the node", async () =>
      largeNode.calls.some(({ params }) => JSON.stringify(params) === last),
    );
    const bytes = await whatWaitsInTheEnd();
    await gateway.reload(settings({ ...patient, memory: 3 * bytes }));
    const refused = await ask("stored", call(2, "eth_getLogs", [query]));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await refused.json()).toMatchObject({ error: { code: -32603 } });
    const batch = await ask("stored", logQueries(2));
    expect(batch.status).toBe(503);
    const cheap = await ask("stored", call(3, "web3_sha3", ["0x"]));
    expect(cheap.status).toBe(200);
    expect(await readGauge(gateway, "headgate_memory_refusals_total")).toBeGreaterThanOrEqual(2);
    const told = gateway.log.filter(({ msg }) =>
      msg?.startsWith("requests are refused, since too much data waits"),
    );
    expect(told).toHaveLength(1);
  });
});

describe("a key for which too much waits", () => {
  const log = (key: string) => ask("stored", call(1, "eth_getLogs", [query]), {}, key);
  const waitingForKeys = (): Promise<number> =>
    readGauge(gateway, "headgate_memory_waiting_for_bytes", 'whom="keys"');
  const refused = (): Promise<number> =>
    readGauge(gateway, "headgate_memory_refusals_total", 'why="key"');
  /** Sends batches that begin while little waits, and whose answers are larger than a socket's buffer. */
  const sendStorm = (callers: number) =>
    Promise.all(
      Array.from({ length: callers }, (_, caller) => {
        const address = (id: number) => `0x2${(caller * 100 + id).toString(16).padStart(39, "0")}`;
        const codes = batchOf(100, "eth_getCode", (id) => [address(id), "0x1"]);
        return sendUnread("passed", codes, { key: "storm-key" });
      }),
    );

  it("is refused its own large work, while that of others goes on", async () => {
    const patient = { reading: { atLeast: "10KiB", over: "60s" } };
    await gateway.reload(settings(patient));
    await sendStorm(6);
    const bytes = await whatWaitsInTheEnd();
    const budget = 3 * bytes; // the storm holds a third, which is more than all keys may have of large work
    await gateway.reload(settings({ ...patient, memory: budget }));
    const before = await refused();
    for (let time = 0; time < 10; time += 1) {
      const [others, own] = await Promise.all([log("test-key"), log("storm-key"), sendStorm(1)]);
      expect([others.status, own.status]).toEqual([200, 503]);
      const { result: logs } = (await others.json()) as Member;
      expect(logs).toHaveLength(BLOCKS * 300);
      expect(await waiting()).toBeLessThan(budget);
    }
    const batch = await ask("stored", logQueries(2));
    expect([batch.status, ((await batch.json()) as Member[]).length]).toEqual([200, 2]);
    expect(await refused()).toBeGreaterThanOrEqual(before + 10);
    expect(await readGauge(gateway, "headgate_memory_keys_over_share")).toBe(1);
    for (const socket of sockets.splice(0)) socket.destroy();
    await until("nothing waits for keys", async () => (await waitingForKeys()) === 0);
    expect(await readGauge(gateway, "headgate_memory_keys_over_share")).toBe(0);
  });
});

describe("once a storm is over", () => {
  it("what it took is given back to the system, though few calls come", async () => {
    await gateway.reload(settings({ reading: { atLeast: "10KiB", over: "60s" } }));
    const block = await ask("stored", call(1, "eth_getBlockByNumber", [query.toBlock, false]));
    const { result: found } = (await block.json()) as { result: { transactions: string[] } };
    const hash = (id: number) => found.transactions[id % found.transactions.length];
    const receipts = batchOf(1_000, "eth_getTransactionReceipt", (id) => [hash(id)]);
    const before = ownBytes();
    await Promise.all(Array.from({ length: 150 }, () => sendUnread("stored", receipts)));
    const most = await until("it took much", async () => {
      const own = ownBytes();
      return own > before + 120 * MB && own;
    });
    for (const socket of sockets.splice(0)) socket.destroy();
    await until("most of it is given back", async () => ownBytes() < before + (most - before) / 3);
  });
});
