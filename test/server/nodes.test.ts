// Settings of nodes, over the real process: the order in which nodes are asked, their rates, and agreement of vendors.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { ask } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  failure,
  missing,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const CALL = [{ to: `0x${"11".repeat(20)}` }, "0x5"];

/** Each node's result of eth_call, by the node's name. */
const says = new Map<string, string>();
const nodes = new Map<string, ScriptedNode>();
let gateway: RunningGateway;
/** Whether the node "tight" refuses all calls, in words. */
let isTightFull = false;

/** The number of upstreams in all networks. */
const UPSTREAMS = 9;
const NAMES = ["honest", "other", "liar", "cheap", "dear", "slow-plan", "tight"];

const upstream = (name: string, settings: object = {}) => ({
  url: nodes.get(name)?.url,
  name,
  vendor: name,
  ...settings,
});

beforeAll(async () => {
  for (const name of NAMES) {
    const node = await startScriptedNode((call) => {
      const isFull = name === "tight" && isTightFull && call.method !== "eth_chainId";
      if (isFull || call.method === "eth_gasPrice")
        return failure(call, '{"code":-32005,"message":"rate limit exceeded"}');
      if (call.method === "eth_blockNumber") return result(call, '"0x10"');
      // The gateway asks for the newest block by itself, at unknown moments.
      if (call.method === "eth_getBlockByNumber") return result(call, "null");
      return result(call, says.get(name) ?? '"0x01"');
    });
    nodes.set(name, node);
  }
  const network = { family: "evm", chainId: 1, window: { blocks: 0 } };
  gateway = await startGatewayProcess({
    networks: {
      agreed: {
        ...network,
        agreement: { eth_call: { ask: 3, agree: 2 }, "eth_getB*": { ask: 2, agree: 2 } },
        upstreams: [upstream("liar"), upstream("honest"), upstream("other")],
      },
      alone: {
        ...network,
        agreement: { eth_call: {} },
        upstreams: [upstream("honest"), upstream("other", { vendor: "honest" })],
      },
      priced: {
        ...network,
        hedging: { share: 0 }, // a pause of the machine would look like a slow node
        upstreams: [upstream("dear", { price: 10 }), upstream("cheap", { price: 1 })],
      },
      planned: {
        ...network,
        upstreams: [upstream("slow-plan", { rate: { perMonth: 20, costs: { eth_call: 10 } } })],
      },
      limited: { ...network, upstreams: [upstream("tight")] },
    },
  });
  // Votes and prices matter only once all nodes can be asked.
  await until("all nodes can be asked", async () => {
    const usable = gateway.log.filter(({ msg }) => msg === "upstream is usable");
    return usable.length === UPSTREAMS;
  });
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([...nodes.values()].map((node) => node.close()));
});

const callsOf = (name: string, method: string): number =>
  nodes.get(name)?.calls.filter((call) => call.method === method).length ?? 0;

describe("what vendors must agree on", () => {
  it("is answered as most say, and who differs is counted", async () => {
    says.set("liar", '"0x666"');
    expect(await ask(gateway.endpoint("agreed"), "eth_call", CALL)).toMatchObject({
      result: "0x01",
    });
    await until("the dissent is counted", async () => {
      const name = "headgate_upstream_dissents_total";
      return (await readGauge(gateway, name, 'upstream="liar"')) === 1;
    });
    expect(gateway.log.map(({ msg }) => msg)).toContain(
      "an upstream's answer differs from the answers of the others",
    );
  });

  it("is refused when too few agree", async () => {
    const address = `0x${"22".repeat(20)}`;
    const told = await ask(gateway.endpoint("agreed"), "eth_getBalance", [address, "0x5"]);
    expect(told.error).toEqual({
      code: -32603,
      message: "the upstreams of this network disagree",
    });
  });

  it("needs as many vendors", async () => {
    const told = await ask(gateway.endpoint("alone"), "eth_call", CALL);
    expect(told.error?.message).toMatch(
      /^2 vendors must agree on the answer to this method, and fewer vendors of this network can be asked/,
    );
  });
});

describe("what a node can do", () => {
  it("is found out once, and known after a restart", async () => {
    const node = await startScriptedNode((call) => {
      if (call.method === "web3_clientVersion") return result(call, '"Scripted/v1"');
      if (call.method === "eth_blockNumber") return result(call, '"0x1000"');
      if (call.method.startsWith("debug_")) return missing(call);
      return result(call, "null");
    });
    const data = await mkdtemp(join(tmpdir(), "headgate-capabilities-"));
    const upstreams = [{ url: node.url, name: "a", probe: true }];
    const networks = { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } };
    const first = await startGatewayProcess({ data, networks });
    await until("all is asked", async () => isAsked(node, "debug_traceTransaction"));
    await until("what it lacks is counted", async () => {
      return (await readGauge(first, "headgate_upstream_lacked_methods")) > 0;
    });
    await first.stop();
    const asked = node.calls.length;
    const second = await startGatewayProcess({ data, networks });
    await until("its version is read", async () =>
      node.calls.slice(asked).some(({ method }) => method === "web3_clientVersion"),
    );
    expect(await readGauge(second, "headgate_upstream_lacked_methods")).toBeGreaterThan(0);
    const told = await ask(second.endpoint("main"), "eth_gasPrice");
    expect(told).toMatchObject({ result: null });
    expect(node.calls.slice(asked).some(({ method }) => method.startsWith("debug_"))).toBe(false);
    await second.stop();
    await node.close();
    await rm(data, { recursive: true });
  });
});

const isAsked = (node: ScriptedNode, method: string): boolean =>
  node.calls.some((call) => call.method === method);

describe("of two healthy nodes", () => {
  it("the cheaper one is asked, until it is away", async () => {
    const url = gateway.endpoint("priced");
    for (let count = 0; count < 40; count += 1) await ask(url, "eth_call", CALL);
    expect([callsOf("cheap", "eth_call"), callsOf("dear", "eth_call")]).toEqual([40, 0]);
    await nodes.get("cheap")?.close();
    expect(await ask(url, "eth_call", CALL)).toMatchObject({ result: "0x01" });
    expect(callsOf("dear", "eth_call")).toBe(1);
  });
});

describe("a node's budget", () => {
  it("of the month is kept to the last credit, and the metrics tell it", async () => {
    const url = gateway.endpoint("planned");
    // Of 20 credits a caller gets at most one call of 10: the gateway's own calls, such as the chain id, took some.
    const told = [];
    for (let count = 0; count < 3; count += 1) told.push(await ask(url, "eth_call", CALL));
    const refused = told.filter(({ error }) => error !== undefined);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.error?.message).toBe(
      "all upstreams of this network are at their rate limit",
    );
    expect(callsOf("slow-plan", "eth_call")).toBe(told.length - refused.length);
    const used = await readGauge(gateway, "headgate_upstream_month_used", 'upstream="slow-plan"');
    expect(used).toBeGreaterThanOrEqual(10);
    expect(used).toBeLessThanOrEqual(20);
  });

  it("is not learned from words alone, while the node answers the gateway", async () => {
    const url = gateway.endpoint("limited");
    const told = await ask(url, "eth_gasPrice");
    expect(told.error?.message).toBe("all upstreams of this network are at their rate limit");
    expect(callsOf("tight", "eth_gasPrice")).toBe(2);
    const paused = await readGauge(gateway, "headgate_upstream_paused_seconds", 'upstream="tight"');
    expect(paused).toBe(0);
  });

  it("is learned from its refusals: a call waits, and is refused in the end", async () => {
    const url = gateway.endpoint("limited");
    isTightFull = true; // words count only once the node refuses the gateway's own call, too
    const told = await ask(url, "eth_gasPrice");
    expect(told.error?.message).toBe("all upstreams of this network are at their rate limit");
    expect(callsOf("tight", "eth_gasPrice")).toBe(4);
    await until("the pause is told", async () => {
      const name = "headgate_upstream_paused_seconds";
      return ((await readGauge(gateway, name, 'upstream="tight"')) ?? 0) > 0;
    });
  });
});
