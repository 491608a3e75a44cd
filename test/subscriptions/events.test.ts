// Server-sent events over the real process and a real anvil: as curl reads them, and with an EventSource that
// reconnects.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand, freePorts } from "../../packages/devnet/src/node-process.ts";
import { reorganise } from "../filters/reorganise.ts";
import { emit, type Header, latest, mine, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

/** A stream as a shell reads it: all bytes so far. */
class Reading {
  text = "";
  readonly #ending = new AbortController();
  readonly response: Response;
  /** Resolves when the gateway has ended the stream. */
  readonly ended: Promise<void>;

  private constructor(response: Response, ending: AbortController) {
    this.response = response;
    this.#ending = ending;
    this.ended = this.#read();
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Reading> {
    const ending = new AbortController();
    return new Reading(await fetch(url, { headers, signal: ending.signal }), ending);
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.response.body ?? []) this.text += decoder.decode(chunk);
    } catch {
      // The test closed the stream.
    }
  }

  /** The data of all events of a kind. */
  dataOf<Data>(kind: string): Data[] {
    const blocks = this.text.split("\n\n").filter((block) => block.includes(`event: ${kind}\n`));
    return blocks.map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)) as Data);
  }

  get lastId(): string {
    return (
      this.text
        .match(/^id: .*$/gm)
        ?.at(-1)
        ?.slice(4) ?? ""
    );
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.ended;
  }
}

describe.skipIf(!isHere)("a stream of events", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let url: string;
  let data: string;
  let port: number;

  const keys = (...more: readonly object[]) => [
    { name: "test", key: "test-key" },
    { name: "page", key: "page-key", origins: ["https://*.example.com"] },
    { name: "few", key: "few-key", methods: ["eth_chainId"] },
    { name: "counted", key: "counted-key" },
    { name: "poor", key: "poor-key", rate: { computeUnits: 1, burst: 1 } },
    ...more,
  ];
  const settings = (...more: readonly object[]) => ({
    data,
    listen: { port },
    keys: keys(...more),
    limits: { webSocket: { connections: 4 } },
    timeouts: { ping: "1s" },
    networks: {
      main: {
        family: "evm",
        chainId: anvil.chainId,
        hosts: ["main.example.com"],
        upstreams: [{ url: anvil.url }],
      },
    },
  });
  const streamOf = (query: string, key = "test-key"): string =>
    `${gateway.endpoint("main", key)}/events?${query}`;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-events-"));
    ({ port } = await freePorts("port"));
    anvil = (await startAnvil()) as AnvilNode;
    await mine(anvil, 32);
    gateway = await startGatewayProcess(settings({ name: "leaving", key: "leaving-key" }));
    url = gateway.endpoint("main");
    await settled(url, anvil);
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    anvil.close();
    await rm(data, { recursive: true, force: true });
  });

  const headIs = async (heads: () => readonly Header[]): Promise<void> => {
    const { hash } = await latest(anvil.url);
    await until("the head is told", async () => heads().at(-1)?.hash === hash);
  };

  it("tells each head, and the new branch from the fork on", async () => {
    const stream = await Reading.open(streamOf("stream=newHeads"));
    expect(stream.response.status).toBe(200);
    const headers = Object.fromEntries(stream.response.headers);
    expect(headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "access-control-allow-origin": "*",
      "x-request-id": expect.any(String),
    });
    const heads = (): Header[] => stream.dataOf("newHeads");
    const { number } = await latest(url);
    await mine(anvil, 3);
    await headIs(heads);
    await reorganise(anvil.url, 2);
    await headIs(heads);
    const numbers = heads().map((head) => Number(head.number) - Number(number));
    expect(numbers).toEqual([1, 2, 3, 2, 3]);
    const [{ subscription } = { subscription: "" }] = stream.dataOf<{ subscription: string }>(
      "subscribed",
    );
    expect(stream.text).toMatch(/^retry: \d+\nid: 0x/);
    expect(stream.lastId).toContain(subscription);
    await stream.close();
  });

  it("tells logs by address and topics, and those that were removed", async () => {
    const [topic] = (
      await ask(anvil.url, "eth_getLogs", [{ fromBlock: "0x0", address: anvil.emitter }])
    ).result as { topics: string[] }[];
    const other = `0x${"12".repeat(20)}`;
    const both = `address=${anvil.emitter}&address=${other}`;
    const logs = await Reading.open(streamOf(`stream=logs&${both}`));
    const none = await Reading.open(streamOf(`stream=logs&address=${other}`));
    const topics = `topic0=${`0x${"34".repeat(32)}`}&topic0=${topic?.topics[0] ?? ""}`;
    const some = await Reading.open(streamOf(`stream=logs&${topics}`));
    const hash = await emit(anvil);
    const told = (stream: Reading) =>
      stream.dataOf<{ transactionHash: string; removed: boolean }>("logs");
    await until("it is told", async () =>
      told(logs).some(({ transactionHash }) => transactionHash === hash),
    );
    await reorganise(anvil.url, 1);
    await until("it is taken back", async () => told(logs).some(({ removed }) => removed));
    expect(told(none)).toEqual([]);
    for (const stream of [logs, none, some]) await stream.close();
  });

  it("goes on behind the last event that a client names, in a header or in the query", async () => {
    const first = await Reading.open(streamOf("stream=newHeads"));
    await mine(anvil, 2);
    await headIs(() => first.dataOf<Header>("newHeads"));
    await first.close();
    await mine(anvil, 2);
    await settled(url, anvil);
    const second = await Reading.open(streamOf("stream=newHeads"), {
      "Last-Event-ID": first.lastId,
    });
    await headIs(() => second.dataOf<Header>("newHeads"));
    await second.close();
    await mine(anvil, 1);
    const last = encodeURIComponent(second.lastId);
    const third = await Reading.open(streamOf(`stream=newHeads&lastEventId=${last}`));
    await headIs(() => third.dataOf<Header>("newHeads"));
    await third.close();
    const numbers = [first, second, third].flatMap((stream) =>
      stream.dataOf<Header>("newHeads").map((head) => Number(head.number)),
    );
    const start = numbers[0] ?? 0;
    expect(numbers).toEqual([0, 1, 2, 3, 4].map((index) => start + index));
  });

  it.each([
    ["stream=nothing", "test-key", 400, -32602],
    ["", "test-key", 400, -32602],
    ["stream=newHeads&stale=1", "test-key", 400, -32602],
    ["stream=logs&address=0x12", "test-key", 400, -32602],
    ["stream=newHeads&lastEventId=x", "test-key", 400, -32602],
    ["stream=newHeads&lastEventId=0x12", "test-key", 404, -32000],
    ["stream=newHeads", "unknown-key", 401, -32000],
    ["stream=newHeads", "few-key", 403, -32004],
    ["stream=newHeads", "page-key", 403, -32002],
    ["stream=newHeads", "poor-key", 429, -32005],
  ])("%s of %s is refused before it begins: %i", async (query, key, status, code) => {
    if (key === "poor-key") await ask(gateway.endpoint("main", key), "eth_blockNumber");
    const origin = key === "page-key" ? "https://evil.example" : "";
    const response = await fetch(streamOf(query, key), origin ? { headers: { origin } } : {});
    expect(response.headers.get("content-type")).toBe("application/json");
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
  });

  it("is of a GET alone; a page that the key is for may read it", async () => {
    const posted = await fetch(streamOf("stream=newHeads"), { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
    const headers = { origin: "https://app.example.com" };
    const asking = { ...headers, "access-control-request-headers": "x-viem" };
    const asked = await fetch(streamOf("", "page-key"), { method: "OPTIONS", headers: asking });
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      "access-control-allow-origin": headers.origin,
      "access-control-allow-methods": "GET, OPTIONS",
      "access-control-allow-headers": expect.stringMatching(/Last-Event-ID.*x-viem/),
    });
    const stream = await Reading.open(streamOf("stream=newHeads", "page-key"), headers);
    expect(stream.response.headers.get("access-control-allow-origin")).toBe(headers.origin);
    expect(stream.response.headers.get("vary")).toBe("Origin");
    await stream.close();
  });

  it("counts among the sockets of its key, and is on its bill", async () => {
    const counted = gateway.endpoint("main", "counted-key");
    const open = () => Reading.open(streamOf("stream=newHeads", "counted-key"));
    const streams = [await open(), await open(), await open(), await open()];
    const refused = await fetch(streamOf("stream=newHeads", "counted-key"));
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { data: { rule: "webSockets" } } });
    for (const stream of streams.slice(1)) await stream.close();
    const [first] = streams;
    await until("there is room again", async () => {
      const again = await open();
      await again.close();
      return again.response.status === 200;
    });
    await mine(anvil, 3);
    await headIs(() => first?.dataOf<Header>("newHeads") ?? []);
    const isBilled = async (): Promise<boolean> => {
      const { usage } = (await ask(counted, "headgate_usage")).result as {
        usage: { method: string; calls: number; computeUnits: number; bytes: number }[];
      };
      const row = usage.find(({ method }) => method === "eth_subscribe");
      const begun = Number(row?.calls) - 3;
      return Number(row?.computeUnits) === 2 * begun + 3 && Number(row?.bytes) > 3_000;
    };
    await until("the notifications are on the bill", isBilled);
    await first?.close();
  });

  it("says that it is alive, and ends when its key is taken away", async () => {
    const stream = await Reading.open(streamOf("stream=newHeads", "leaving-key"));
    await until("a comment comes", async () => stream.text.endsWith("\n:\n\n"));
    await gateway.reload(settings());
    await stream.ended;
    expect(stream.dataOf("close")).toEqual([{ code: 4001, reason: "key revoked" }]);
  });

  it("is found by the host of its network, and is the last answer of its connection", async () => {
    const socket = connect(port, "127.0.0.1");
    const request =
      "GET /v1/test-key/events?stream=newHeads HTTP/1.1\r\nHost: main.example.com\r\n\r\n";
    socket.write(request);
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    await until("it has begun", async () => text.includes("event: subscribed"));
    await mine(anvil, 1);
    const { hash } = await latest(anvil.url);
    await until("the head is told", async () => text.includes(hash));
    const ended = once(socket, "close");
    socket.write(request);
    await ended;
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    const both = connect(port, "127.0.0.1");
    both.write(request + request);
    await once(both.resume(), "close");
  });

  it("ends at once while the gateway stops: an EventSource that is refused never comes again", async () => {
    const waiting = connect(port, "127.0.0.1");
    const unused = connect(port, "127.0.0.1");
    await Promise.all([once(waiting, "connect"), once(unused, "connect")]);
    // The gateway may reset this connection before it answers the other one.
    const unusedClosed = new Promise((resolve) => {
      unused.on("error", () => undefined).on("close", resolve);
      unused.resume();
    });
    const stopped = gateway.stop();
    await until("it drains", async () =>
      gateway.log.some(({ msg }) => msg?.startsWith("draining")),
    );
    waiting.write(
      "GET /v1/test-key/events?stream=newHeads HTTP/1.1\r\nHost: main.example.com\r\n\r\n",
    );
    const text = Buffer.concat(await waiting.toArray()).toString();
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain('event: close\ndata: {"code":1012,"reason":"restarting"}');
    await unusedClosed;
    expect(await stopped).toBe(0);
    const { tookMs } = gateway.log.find(({ msg }) => msg === "ended") ?? {};
    expect(tookMs).toBeLessThan(5_000); // of the drain timeout of 25 s
    gateway = await startGatewayProcess(settings());
    await settled(gateway.endpoint("main"), anvil);
  });

  it("an EventSource hears each block once, over a gateway that stops and one that is killed", async () => {
    const source = new EventSource(streamOf("stream=newHeads"));
    const heads: Header[] = [];
    source.addEventListener("newHeads", ({ data: text }) => {
      heads.push(JSON.parse(text) as Header);
    });
    let opens = 0;
    source.addEventListener("subscribed", () => {
      opens += 1;
    });
    const opened = (count: number): Promise<unknown> =>
      until("it is open", async () => opens >= count);
    await opened(1);
    await mine(anvil, 2);
    await headIs(() => heads);
    for (const [restart, signal] of (["SIGTERM", "SIGKILL"] as const).entries()) {
      const ended = once(gateway.process, "exit");
      gateway.process.kill(signal);
      await ended;
      await mine(anvil, 2);
      gateway = await startGatewayProcess(settings());
      await opened(restart + 2);
      await mine(anvil, 1);
      await headIs(() => heads);
    }
    source.close();
    const numbers = heads.map(({ number }) => Number(number));
    const [start = 0] = numbers;
    expect(numbers).toEqual(numbers.map((_, index) => start + index));
    expect(numbers).toHaveLength(8);
  });
});
