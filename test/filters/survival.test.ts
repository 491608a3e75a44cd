// Filters while nodes die or lack filters, and while the gateway is away for longer than its window.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import {
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";

type Log = { blockHash: string; logIndex: string };

const WINDOW = 10;
let data: string;
let chain: GeneratedChain;
let nodes: ScriptedNode[];
let gateway: RunningGateway;
let url: string;
/** The timeout for one answer of a node. */
let nodeTimeout: string;

const POLL = "eth_getFilterChanges";
const rpc = (method: string, params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** Starts the gateway over nodes with a generated chain, which have no filters of their own. */
const start = async (more: object = {}): Promise<void> => {
  await launch(more);
  await settled();
};

const launch = async (more: object = {}): Promise<void> => {
  gateway = await startGatewayProcess({
    data,
    ...more,
    networks: {
      main: {
        family: "evm",
        chainId: 1,
        window: { blocks: WINDOW },
        upstreams: nodes.map(({ url: each }) => ({ url: each, timeout: nodeTimeout })),
        limits: { logs: { results: 30 } },
      },
    },
  });
  url = gateway.endpoint("main");
};

const kill = async (): Promise<void> => {
  const dead = once(gateway.process, "exit");
  gateway.process.kill("SIGKILL");
  await dead;
};

const settled = (): Promise<unknown> =>
  until("the gateway follows, and is at the head", async () => {
    const response = await post(url, rpc("eth_getBlockByNumber", ["latest", false]));
    const { result: block } = (await response.json()) as { result?: { hash?: string } | null };
    return response.headers.get("x-headgate-source") === "store" && block?.hash === chain.head.hash;
  });

const read = async <T>(method: string, ...params: unknown[]): Promise<T> => {
  const { result: value, error } = await ask(url, method, params);
  if (error) throw new Error(error.message);
  return value as T;
};

/** Polls until there are no more items. */
async function pollAll<T>(id: string): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const some = await read<T[]>("eth_getFilterChanges", id);
    if (some.length === 0) return items;
    items.push(...some);
  }
}

/** The logs of the canonical blocks after a number. */
const logsAfter = (number: number): unknown[] =>
  Array.from(
    { length: chain.head.number - number },
    (_, index) => chain.block(number + 1 + index)?.logs ?? [],
  )
    .flat()
    .map(({ json }) => JSON.parse(json));
const hashesAfter = (number: number): (string | undefined)[] =>
  Array.from(
    { length: chain.head.number - number },
    (_, index) => chain.block(number + 1 + index)?.hash,
  );

beforeEach(async () => {
  nodeTimeout = "20s";
  data = await mkdtemp(join(tmpdir(), "headgate-survival-"));
  chain = new GeneratedChain({ seed: 5, transactions: [1, 3], logs: [2, 5], blockSeconds: 0 });
  chain.extend(30);
});

afterEach(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
  await rm(data, { recursive: true, force: true });
});

const startOverTwo = async (): Promise<void> => {
  nodes = [await startGeneratedNode(chain), await startGeneratedNode(chain)];
  await start();
};

describe("a filter", () => {
  beforeEach(startOverTwo);

  it("loses nothing and doubles nothing when one of two nodes dies between two polls", async () => {
    const since = chain.head.number;
    const id = await read<string>("eth_newFilter", {});
    chain.extend(3);
    await settled();
    const first = await pollAll(id);
    await nodes[0]?.close();
    chain.reorganise(1, 4);
    await settled();
    const second = await pollAll<Log & { removed: boolean }>(id);
    const gone = second.filter(({ removed }) => removed);
    const lost = new Set(gone.map(({ blockHash, logIndex }) => blockHash + logIndex));
    const kept = (first as Log[]).filter(
      ({ blockHash, logIndex }) => !lost.has(blockHash + logIndex),
    );
    expect(gone.length).toBeGreaterThan(0);
    expect(kept.length).toBe(first.length - gone.length);
    expect([...kept, ...second.filter(({ removed }) => !removed)]).toEqual(logsAfter(since));
  });

  it("goes on over all that happened while the gateway was away, longer than its window", async () => {
    const since = chain.head.number;
    const logs = await read<string>("eth_newFilter", {});
    const blocks = await read<string>("eth_newBlockFilter");
    chain.extend(2);
    await settled();
    const before = await pollAll(logs);
    await kill();
    chain.extend(3 * WINDOW);
    await start();
    expect([...before, ...(await pollAll(logs))]).toEqual(logsAfter(since));
    expect(await pollAll(blocks)).toEqual(hashesAfter(since));
  });

  it("goes on over a reorganisation while the gateway was away", async () => {
    const logs = await read<string>("eth_newFilter", {});
    const blocks = await read<string>("eth_newBlockFilter");
    chain.extend(3);
    await settled();
    const fork = chain.head.number - 2;
    const before = await pollAll<object>(logs);
    await pollAll(blocks);
    const dropped = logsAfter(fork) as object[];
    await kill();
    chain.reorganise(2, 2 * WINDOW);
    await start();
    const after = await pollAll<{ removed: boolean; blockNumber: string }>(logs);
    const gone = after.filter(({ removed }) => removed);
    const byBlock = (a: object, b: object): number =>
      Number((b as (typeof gone)[0]).blockNumber) - Number((a as (typeof gone)[0]).blockNumber);
    expect(before).toEqual(expect.arrayContaining(dropped));
    expect(gone).toEqual(dropped.toSorted(byBlock).map((log) => ({ ...log, removed: true })));
    expect(after.slice(0, gone.length)).toEqual(gone);
    expect(after.slice(gone.length)).toEqual(logsAfter(fork));
    expect(await pollAll(blocks)).toEqual(hashesAfter(fork));
  });

  it("is not found when the blocks it slept through are not to be had any more", async () => {
    const id = await read<string>("eth_newFilter", {});
    await kill();
    // Another chain replaces this one: no node knows the last block that the filter told.
    const seed = 6;
    chain = new GeneratedChain({ seed, transactions: [1, 3], logs: [2, 5], blockSeconds: 0 });
    chain.extend(60);
    await Promise.all(nodes.map((node) => node.close()));
    nodes = [await startGeneratedNode(chain)];
    await start();
    const { error } = await ask(url, "eth_getFilterChanges", [id]);
    expect(error).toMatchObject({ code: -32000, message: "filter not found" });
    expect((await ask(url, "eth_uninstallFilter", [id])).result).toBe(false);
  });

  it("answers while no node is there, and goes on when one is again", async () => {
    const since = chain.head.number;
    const id = await read<string>("eth_newFilter", {});
    chain.extend(1);
    await settled();
    await Promise.all(nodes.map((node) => node.close()));
    const first = await pollAll(id);
    expect(first).toEqual(logsAfter(since));
    expect(await pollAll(id)).toEqual([]);
    const port = Number(new URL(nodes[0]?.url ?? "").port);
    chain.extend(2);
    nodes = [await startGeneratedNode(chain, undefined, port)];
    await settled();
    expect([...first, ...(await pollAll(id))]).toEqual(logsAfter(since));
  });
});

describe("with a node that hangs", () => {
  /** Selects the calls that the node never answers. */
  let hangs: (call: NodeCall) => boolean = () => false;

  beforeEach(async () => {
    hangs = () => false;
    const hanging = await startScriptedNode((call) => {
      if (hangs(call)) return undefined;
      const json = answerOf(chain, call.method, call.params);
      return json === undefined ? missing(call) : result(call, json);
    });
    nodes = [hanging];
    await start({ timeouts: { call: "2s" } });
  });

  it("tells the next poll what a call behind another on a broken connection was told", async () => {
    const since = chain.head.number;
    const id = await read<string>("eth_newFilter", {});
    chain.extend(2);
    await settled();
    hangs = ({ method }) => method === "eth_call";
    const { port, pathname } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    const requests = [rpc("eth_call", [{ to: `0x${"11".repeat(20)}` }, "latest"]), rpc(POLL, [id])];
    // In one write: the gateway would not begin a later request before it has answered the first call.
    socket.write(
      requests
        .map(
          (body) =>
            `POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        .join(""),
    );
    await until("the poll is answered, behind the call", async () =>
      gateway.log.some(({ msg, method }) => msg === "call" && method === POLL),
    );
    socket.destroy();
    expect(await pollAll(id)).toEqual(logsAfter(since));
  });

  it("answers and stops in time while it is told nothing of blocks", async () => {
    const id = await read<string>("eth_newFilter", {});
    await kill();
    chain.extend(3 * WINDOW);
    hangs = ({ method, params }) => /^eth_getBlock/.test(method) && params[0] !== "latest";
    const elapsedMs = stopwatch();
    await launch({ timeouts: { call: "1s", drain: "1s" } });
    expect((await ask(url, POLL, [id])).error?.code).toBe(-32603);
    const cut = ask(url, POLL, [id]).catch(() => undefined);
    expect(await gateway.stop()).toBe(0);
    await cut;
    // The node's timeout is 20 seconds for each answer.
    expect(elapsedMs()).toBeLessThan(15_000);
    hangs = () => false;
    await start();
    expect((await ask(url, POLL, [id])).error).toBeUndefined();
  });

  it("answers a poll in time, and keeps the filter", async () => {
    const since = chain.head.number;
    const id = await read<string>("eth_newFilter", {});
    await kill();
    nodeTimeout = "2s";
    chain.extend(3 * WINDOW);
    hangs = ({ method, params }) =>
      method === "eth_getBlockByNumber" && String(params[0]).startsWith("0x");
    await start({ timeouts: { call: "900ms" } });
    expect((await ask(url, POLL, [id])).error).toEqual({
      code: -32603,
      message: "upstream timeout",
    });
    hangs = () => false;
    const items = await until("all is told", async () => {
      const { result: some } = await ask(url, POLL, [id]);
      return (some as unknown[] | undefined)?.length ? (some as unknown[]) : undefined;
    });
    expect([...items, ...(await pollAll(id))]).toEqual(logsAfter(since));
  });
});

it("says that no node tells of pending transactions where none does", async () => {
  await startOverTwo();
  const { error } = await ask(url, "eth_newPendingTransactionFilter");
  expect(error?.code).toBe(-32601);
  expect(error?.message).toContain("no upstream of this network announces pending transactions");
});
