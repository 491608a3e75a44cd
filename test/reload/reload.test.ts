// Reloads of the running gateway while callers call: over a real anvil.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { keepCalling, type Load } from "./constant-load.ts";
import { type SlowNode, startSlowNode } from "./slow-node.ts";

let anvil: AnvilNode | undefined;
let slow: SlowNode;
let gateway: RunningGateway;
let load: Load | undefined;

const node = (): AnvilNode => anvil as AnvilNode;
const first = (): object => ({ url: node().url, name: "first" });
const second = (): object => ({ url: slow.url, name: "second" });
const network = (changed: object = {}): object => ({
  family: "evm",
  chainId: node().chainId,
  upstreams: [first()],
  ...changed,
});
const settings = (changed: object = {}, networks: object = {}): GatewaySettings => ({
  networks: { main: network(), ...networks },
  ...changed,
});
const keys = (...names: string[]): object => ({
  keys: names.map((name) => ({ name, key: `${name}-key` })),
});

beforeAll(async () => {
  anvil = await startAnvil();
  if (anvil) slow = await startSlowNode(anvil.url);
});
afterAll(() => {
  slow?.close();
  anvil?.close();
});
afterEach(async () => {
  await load?.stop();
  load = undefined;
  slow.delayMs = 0;
  await gateway.stop();
});

const start = async (changed?: GatewaySettings): Promise<void> => {
  gateway = await startGatewayProcess(changed ?? settings());
};

const callAll = (): Load => {
  load = keepCalling(gateway.endpoint("main"), [
    ["eth_blockNumber", []],
    ["eth_getBlockByNumber", ["latest", true]],
    ["eth_getTransactionReceipt", [node().transactions[3]]],
    ["eth_getLogs", [{ fromBlock: "0x1", toBlock: "latest" }]],
    ["eth_getBalance", [node().emitter, "0x1"]],
    ["eth_estimateGas", [{ to: node().emitter }]],
  ]);
  return load;
};

const mistakesIn = (lines: readonly Readonly<Record<string, unknown>>[]): string[] =>
  lines.flatMap(({ mistake }) => (mistake === undefined ? [] : [String(mistake)]));
const changesIn = (lines: readonly Readonly<Record<string, unknown>>[]): unknown[] =>
  lines.map(({ change }) => change).filter((change) => change !== undefined);

describe.skipIf(!(await hasAnvil()))("a reload under load", () => {
  it("loses no call while nodes, networks, keys and bounds come and go", async () => {
    await start();
    const { faults, again, answers } = callAll();
    const both = { main: network({ upstreams: [first(), second()] }) };
    const steps: [GatewaySettings, string][] = [
      [settings({}, both), "networks.main.upstreams[1]: added (second)"],
      [
        settings({}, { main: network({ upstreams: [second()] }) }),
        "networks.main.upstreams[0]: removed (first)",
      ],
      [settings({}, both), "networks.main.upstreams[0]: added (first)"],
      [settings({}, { ...both, other: network() }), "networks.other: added"],
      [settings({}, both), "networks.other: removed"],
      [
        settings({}, { main: network({ window: { blocks: 2 }, proof: "strict" }) }),
        "networks.main.window.blocks: 10000 → 2",
      ],
      [settings(), "networks.main.proof: strict → available"],
      [
        settings({}, { main: network({ window: { blocks: 0 } }) }),
        "networks.main.window.blocks: 10000 → 0",
      ],
      [settings({ limits: { batch: 50 } }), "limits.batch: 1000 → 50"],
      [
        settings({ timeouts: { call: "9s" }, log: { level: "info" } }),
        "timeouts.call: 30000ms → 9000ms",
      ],
    ];
    for (const [next, change] of steps) {
      expect(changesIn(await gateway.reload(next))).toContain(change);
      await again();
    }
    await load?.stop();
    expect(faults).toEqual([]);
    expect(answers()).toBeGreaterThan(100);
  });

  it("lets calls end at a node, and in a network, that is taken away", async () => {
    const far = network({ upstreams: [second()], window: { blocks: 0 } });
    await start(settings({}, { main: far, far }));
    slow.delayMs = 700;
    const calls = ["far", "main"].map((name) =>
      read(gateway.endpoint(name), "eth_getBalance", node().emitter, "0x2"),
    );
    const asked = slow.asked.length;
    await until("the node is asked", async () => slow.asked.length >= asked + calls.length);
    await gateway.reload(settings({}, { main: network({ window: { blocks: 0 } }) }));
    const { error } = await ask(gateway.endpoint("far"), "eth_chainId");
    expect(error).toMatchObject({ code: -32600, message: "unknown network" });
    expect(await Promise.all(calls)).toEqual(["0x0", "0x0"]);
  });
});

describe.skipIf(!(await hasAnvil()))("what a reload changes", () => {
  it("keys: a removed one is refused at once, a new one works, and the others go on", async () => {
    await start(settings(keys("old", "stays")));
    load = keepCalling(gateway.endpoint("main", "stays-key"), [["eth_blockNumber", []]]);
    const lines = await gateway.reload(settings(keys("stays", "new")));
    expect(changesIn(lines)).toEqual(["keys[0]: removed (old)", "keys[1]: added (new)"]);
    const told = async (key: string) =>
      (await ask(gateway.endpoint("main", key), "eth_chainId")).error?.message;
    expect(await told("old-key")).toBe("invalid API key");
    expect(await told("new-key")).toBeUndefined();
    await load.stop();
    expect(load.faults).toEqual([]);
  });

  it("a key's rate", async () => {
    const rated = (computeUnits: number) =>
      settings({
        keys: [{ name: "a", key: "a-key", rate: { computeUnits, burst: computeUnits } }],
      });
    await start(rated(1_000));
    const calls = () =>
      Promise.all(
        Array.from({ length: 20 }, () => ask(gateway.endpoint("main", "a-key"), "eth_chainId")),
      );
    expect((await calls()).some(({ error }) => error)).toBe(false);
    await gateway.reload(rated(2));
    expect((await calls()).filter(({ error }) => error?.code === -32005).length).toBeGreaterThan(
      10,
    );
    await gateway.reload(rated(1_000));
    await until("the rate is back", async () => (await calls()).every(({ error }) => !error));
  });

  it("the log's level, also of networks", async () => {
    await start(settings({ log: { level: "info" } }));
    await gateway.reload(settings({ log: { level: "debug" } }));
    await ask(gateway.endpoint("main"), "eth_chainId");
    await until("the call is in the log", async () =>
      gateway.log.some(({ msg }) => msg === "call"),
    );
  });

  it("a network's hosts", async () => {
    await start();
    await gateway.reload(settings({}, { main: network({ hosts: ["127.0.0.1"] }) }));
    expect(await read(`${gateway.url}/v1/test-key`, "eth_chainId")).toBe(
      `0x${node().chainId.toString(16)}`,
    );
  });

  it("nothing, where nothing changed, or only the order of names", async () => {
    await start(settings({}, { other: network() }));
    const networks = { other: network(), main: network() };
    const lines = await gateway.reload({ ...settings(), networks });
    expect(lines.map(({ msg }) => msg)).toEqual(["configuration reloaded: nothing changed"]);
  });

  it("nothing, where something is wrong or needs a restart", async () => {
    await start();
    const wrong = await gateway.reload(
      settings({ ...keys("new"), limits: { batch: 0, body: "x" } }),
    );
    expect(mistakesIn(wrong).map((mistake) => mistake.split(":")[0])).toEqual([
      "limits.batch",
      "limits.body",
    ]);
    const restart = await gateway.reload(settings({ ...keys("new"), data: "/elsewhere" }));
    expect(mistakesIn(restart)).toEqual(["data: needs a restart"]);
    expect(await gateway.reload("{ not yaml")).not.toEqual([]);
    expect((await ask(gateway.endpoint("main", "new-key"), "eth_chainId")).error).toBeDefined();
    expect((await ask(gateway.endpoint("main"), "eth_chainId")).error).toBeUndefined();
  });
});

describe.skipIf(!(await hasAnvil()))("filters over reloads", () => {
  it("tell each block once", async () => {
    await start();
    const url = gateway.endpoint("main");
    const id = await read<string>(url, "eth_newBlockFilter");
    const from = Number(await read(url, "eth_blockNumber"));
    const told: string[] = [];
    const poll = async (): Promise<void> => {
      told.push(...(await read<string[]>(url, "eth_getFilterChanges", id)));
    };
    const both = { main: network({ upstreams: [second(), first()] }) };
    const alone = { main: network({ upstreams: [second()] }) };
    const shorter = { main: network({ window: { blocks: 50 } }) };
    for (const next of [both, alone, {}, shorter, both, {}]) {
      const reloading = gateway.reload(settings({}, next));
      for (let block = 0; block < 5; block += 1) {
        await read(node().url, "evm_mine");
        await poll();
      }
      await reloading;
      await poll();
    }
    const head = Number(await read(node().url, "eth_blockNumber"));
    const hashes = await Promise.all(
      Array.from({ length: head - from }, async (_, index) => {
        const number = `0x${(from + 1 + index).toString(16)}`;
        return (await read<{ hash: string }>(node().url, "eth_getBlockByNumber", number, false))
          .hash;
      }),
    );
    await until("the last block is told", async () => {
      await poll();
      return told.length >= hashes.length;
    });
    expect(told).toEqual(hashes);
  });
});

async function hasAnvil(): Promise<boolean> {
  const { anvilCommand } = await import("../../packages/devnet/src/node-process.ts");
  return anvilCommand({ port: 1, chainId: 1 }) !== undefined;
}
