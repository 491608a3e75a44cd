// Subscribers that stop reading while large blocks come: their notifications wait in the store, not in memory.
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memory } from "../../bench/process-cost.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { ExpectedHeads, ExpectedLogs } from "./expected-notifications.ts";
import { Subscriber } from "./subscriber.ts";

const MB = 2 ** 20;
const READERS = 8;
/** The logs of one block, of some 700 bytes each as notifications. */
const LOGS = 1_000;
const LATEST = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber" },
  params: ["latest", false],
});

let chain: GeneratedChain;
let node: ScriptedNode;
let gateway: RunningGateway;
/** The node's depth: it lacks blocks further below the head. */
let keeps: number;

const isPruned = (method: string, [reference]: readonly unknown[]): boolean => {
  if (!/^eth_getBlock/.test(method)) return false;
  const text = String(reference);
  const number = text.length === 66 ? chain.byHash(text)?.number : Number(text);
  return number !== undefined && number < chain.head.number - keeps;
};

async function start(window: number): Promise<void> {
  gateway = await startGatewayProcess({
    limits: { reading: { over: "1s" } },
    networks: {
      main: {
        ...{ family: "evm", chainId: 1 },
        window: { blocks: window },
        upstreams: [{ url: node.url }],
      },
    },
  });
  await settled();
}

const settled = (): Promise<unknown> =>
  until("the gateway has the head", async () => {
    const response = await post(gateway.endpoint("main"), LATEST);
    const { result: block } = (await response.json()) as { result?: { hash: string } };
    const isStored = response.headers.get("x-headgate-source") === "store";
    return isStored && block?.hash === chain.head.hash;
  });

/** Adds blocks of the same size, one by one, and waits until the gateway has each. */
async function grow(blocks: number): Promise<void> {
  for (let made = 0; made < blocks; made += 1) {
    chain.extend(1);
    await settled();
  }
}

const subscribed = async (): Promise<Subscriber> => {
  const told = [new ExpectedHeads(chain), new ExpectedLogs(chain, {})];
  const endpoints = () => [gateway.endpoint("main")];
  const subscriber = new Subscriber(told, { random: new Random(1), endpoints });
  await subscriber.subscribe();
  return subscriber;
};

beforeEach(async () => {
  keeps = Number.POSITIVE_INFINITY;
  chain = new GeneratedChain({
    seed: 7,
    transactions: [4, 4],
    logs: [LOGS, LOGS],
    blockSeconds: 0,
  });
  chain.extend(2);
  node = await startScriptedNode((call) => {
    const json = isPruned(call.method, call.params)
      ? "null"
      : answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  });
});

afterEach(async () => {
  await gateway.stop();
  await node.close();
});

describe("subscribers that stop reading", () => {
  it("are told all when they read on, and nothing waits for them in memory", async () => {
    await start(64);
    const readers = await Promise.all(Array.from({ length: READERS }, subscribed));
    await grow(2);
    for (const reader of readers) reader.hold();
    const before = await memory(gateway.process.pid ?? 0);
    await grow(30); // 20 MB for each reader
    const after = await memory(gateway.process.pid ?? 0);
    expect(after.own - before.own).toBeLessThan(80 * MB);
    for (const reader of readers) reader.goOn();
    for (const reader of readers) {
      const hasAll = async (): Promise<boolean> => {
        if (reader.fault) throw reader.fault;
        return reader.streams.every(({ expected }) => expected.whyNotAtEnd() === undefined);
      };
      await until("all is told", hasAll);
      expect(reader.sockets).toBe(1);
      reader.drop();
    }
  });

  it("are let go when what they missed is not to be had any more", async () => {
    await start(8);
    keeps = 8;
    const reader = await subscribed();
    await grow(1);
    reader.hold();
    await grow(30);
    const { socket } = reader;
    const closed = once(socket, "close");
    reader.goOn();
    const [code, why] = (await closed) as [number, Buffer];
    expect([code, why.toString()]).toEqual([1013, "too far behind"]);
    expect(reader.fault).toBeUndefined();
  });
});
