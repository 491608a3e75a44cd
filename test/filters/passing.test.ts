// A followed network begins to pass calls through, because the disk of its store is full, and is followed again later,
// while a client polls filters and another one has subscriptions: both get each item once.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { SocketCaller } from "../support/socket-caller.ts";

const disk = mountSmallDisk(24);
if (!disk) console.warn("the test of filters on a full disk is skipped: no disk can be mounted");

type Log = { readonly blockHash: string; readonly logIndex: string; readonly removed: boolean };

/** The logs that a client holds, which adds each log and takes back each removed one. */
class HeldLogs {
  readonly #held = new Set<string>();
  #taken = 0;

  /** @param logs All logs that came so far. */
  take(logs: readonly Log[]): void {
    for (const { blockHash, logIndex, removed } of logs.slice(this.#taken)) {
      const name = `${blockHash} ${Number(logIndex)}`;
      expect([name, this.#held.has(name)]).toEqual([name, removed]);
      if (removed) this.#held.delete(name);
      else this.#held.add(name);
    }
    this.#taken = logs.length;
  }

  get names(): string[] {
    return [...this.#held].sort();
  }
}

afterAll(() => disk?.remove());

describe.skipIf(!disk).each([1, 2])("filters and subscriptions under %i processes", (processes) => {
  const { path: store, ...room } = disk as SmallDisk;
  const data = mkdtempSync(join(tmpdir(), "headgate-passing-"));
  const shape = { transactions: [5, 10], logs: [20, 40], blockSeconds: 0 } as const;
  const chain = new GeneratedChain({ seed: 7, ...shape });
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let socket: SocketCaller;
  let first: number;
  const filters = { logs: "", blocks: "" };
  const polled: { logs: Log[]; blocks: string[] } = { logs: [], blocks: [] };
  const subscribed = { logs: "", heads: "" };

  beforeAll(async () => {
    chain.extend(20);
    node = await startGeneratedNode(chain);
    // Only the store is on the small disk: the state, with the records of filters, can be written all the time.
    const folder = join(store, `main-${processes}`);
    mkdirSync(folder);
    symlinkSync(folder, join(data, "main"));
    const upstreams = [{ name: "own", url: node.url }];
    gateway = await startGatewayProcess({
      ...{ data, processes },
      networks: { main: { family: "evm", chainId: 1, window: { blocks: 60 }, upstreams } },
    });
    await until("the chain is followed", async () => (await sourceOfLatest()) === "store");
    first = chain.head.number + 1;
    filters.logs = String((await ask(url(), "eth_newFilter", [{}])).result);
    filters.blocks = String((await ask(url(), "eth_newBlockFilter")).result);
    socket = await SocketCaller.open(url());
    subscribed.logs = await socket.subscribe("logs", {});
    subscribed.heads = await socket.subscribe("newHeads");
  });
  afterAll(async () => {
    await socket.close();
    expect(await gateway.stop()).toBe(0);
    await node.close();
    room.empty();
    rmSync(join(store, `main-${processes}`), { recursive: true });
    rmSync(data, { recursive: true });
  });

  it("are answered while it is followed", async () => {
    chain.extend(2);
    await allIsTold();
  });

  it("go on over the nodes' chain while it is not, also over a reorganisation", async () => {
    room.fill();
    await until("the store cannot be written", async () => {
      chain.extend(5);
      await poll();
      return (await readiness()).includes("not followed");
    });
    chain.extend(2);
    expect(await sourceOfLatest()).toBe("upstream");
    await allIsTold();
    chain.reorganise(2, 3);
    await allIsTold();
    expect(await measured("headgate_filter_walks_of_nodes_total")).toBeGreaterThan(0);
  });

  it("begin there", async () => {
    const { result } = await ask(url(), "eth_newBlockFilter");
    chain.extend(1);
    const told = await until("its block is told", async () => {
      const { result: items } = await ask(url(), "eth_getFilterChanges", [result]);
      return (items as string[]).length > 0 && items;
    });
    expect(told).toEqual([chain.head.hash]);
    const response = await call("eth_getFilterChanges", [filters.blocks]);
    expect(response.headers.get("x-headgate-source")).toBe("upstream");
    polled.blocks.push(...((await response.json()) as { result: string[] }).result);
    await allIsTold();
  });

  it("go on over the stored chain when it is followed again", async () => {
    room.empty();
    chain.reorganise(1, 2);
    await until("the head is the store's", async () => (await sourceOfLatest()) === "store");
    chain.extend(3);
    await allIsTold();
  });

  const url = (): string => gateway.endpoint("main");
  const call = (method: string, params: unknown[]): Promise<Response> =>
    post(url(), JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const readiness = async (): Promise<string> => (await fetch(`${gateway.url}/readyz`)).text();
  const sourceOfLatest = async (): Promise<string | null> =>
    (await call("eth_getBlockByNumber", ["latest", false])).headers.get("x-headgate-source");
  async function measured(name: string): Promise<number> {
    const text = await (await fetch(gateway.metricsUrl)).text();
    return Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, "m").exec(text)?.[1]);
  }

  /** An error says that the chain changes just now, and a later poll has the items. */
  async function poll(): Promise<void> {
    for (const kind of ["logs", "blocks"] as const) {
      const { result, error } = await ask(url(), "eth_getFilterChanges", [filters[kind]]);
      expect(error?.message ?? "").not.toContain("filter not found");
      polled[kind].push(...((result ?? []) as never[]));
    }
  }

  const heldByPolls = new HeldLogs();
  const heldByPushes = new HeldLogs();

  /** Polls and listens until both clients have all logs and blocks of the chain since they began, and nothing else. */
  async function allIsTold(): Promise<void> {
    const numbers = Array.from({ length: chain.head.number - first + 1 }, (_, at) => first + at);
    const blocks = numbers.flatMap((number) => chain.block(number) ?? []);
    const hashes = blocks.map(({ hash }) => hash);
    const logs = blocks
      .flatMap(({ hash, logs: own }) =>
        own.map(({ json }) => `${hash} ${Number((JSON.parse(json) as Log).logIndex)}`),
      )
      .sort();
    const heads = () => socket.resultsOf<{ hash: string }>(subscribed.heads);
    await until("all is told", async () => {
      await poll();
      const isHeadTold = heads().at(-1)?.hash === chain.head.hash;
      heldByPolls.take(polled.logs);
      heldByPushes.take(socket.resultsOf<Log>(subscribed.logs));
      const held = [heldByPolls.names.length, heldByPushes.names.length];
      return isHeadTold && held.every((count) => count === logs.length);
    });
    expect(heldByPolls.names).toEqual(logs);
    expect(heldByPushes.names).toEqual(logs);
    for (const told of [polled.blocks, heads().map(({ hash }) => hash)]) {
      expect(told.filter((hash) => hashes.includes(hash))).toEqual(hashes);
      expect(new Set(told).size).toBe(told.length);
    }
  }
});
