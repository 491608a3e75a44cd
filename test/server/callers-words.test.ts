// Errors of honest nodes in words that a caller chose, as geth gives them, over the real process: the nodes go on
// answering everybody.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { type Envelope, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  failure,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const NAMES = ["a", "b", "c"];
const QUOTA = "monthly quota exceeded, retry in 60m0s";

const nodes: ScriptedNode[] = [];
let gateway: RunningGateway;

/** Answers a call as geth does: a tracer's exception and a timeout that is none are told in the caller's own words. */
function answer(call: NodeCall): string {
  if (call.method === "eth_blockNumber") return result(call, '"0x10"');
  if (call.method === "eth_getBlockByNumber") return result(call, "null");
  if (call.method !== "debug_traceCall") return result(call, '"0x01"');
  const [, , options] = call.params as [unknown, unknown, Record<string, string> | undefined];
  if (!options)
    return failure(call, '{"code":-32602,"message":"missing value for required argument 0"}');
  const { timeout, tracer = "" } = options;
  const [, thrown] = /throw "(.*)"/.exec(tracer) ?? [];
  if (timeout) return said(call, `time: invalid duration ${JSON.stringify(timeout)}`);
  if (thrown)
    return said(
      call,
      `${thrown} at step (<eval>:1:30(3))    in server-side tracer function 'step'`,
    );
  return result(call, "{}");
}

const said = (call: NodeCall, message: string): string =>
  failure(call, JSON.stringify({ code: -32000, message }));

beforeAll(async () => {
  for (const _ of NAMES) nodes.push(await startScriptedNode(answer));
  const upstreams = nodes.map(({ url }, index) => ({ url, name: NAMES[index] }));
  const network = {
    ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
    methods: { allow: ["eth_*", "debug_traceCall"] },
  };
  gateway = await startGatewayProcess({
    keys: [
      { name: "attacker", key: "attacker-key" },
      { name: "other", key: "other-key" },
    ],
    networks: {
      one: { ...network, upstreams: upstreams.slice(0, 1) },
      two: { ...network, upstreams: upstreams.slice(0, 2) },
      three: { ...network, upstreams },
    },
  });
  await until("all nodes can be asked", async () => {
    const usable = gateway.log.filter(({ msg }) => msg === "upstream is usable");
    return usable.length === 6;
  });
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

async function ask(key: string, network: string, method: string, params: unknown[]) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await post(gateway.endpoint(network, key), body);
  return { status: response.status, envelope: (await response.json()) as Envelope };
}

const trace = (network: string, options: object) =>
  ask("attacker-key", network, "debug_traceCall", [{}, "latest", options]);

const throwing = (text: string): object => ({
  tracer: `{step: function() { throw "${text}" }, fault: function() {}, result: function() {}}`,
});

describe.each(["one", "two", "three"])("in a network of %s", (network) => {
  it.each([
    ["a tracer that throws a quota", throwing(QUOTA), QUOTA],
    ["a timeout that reads like a quota", { timeout: QUOTA }, "time: invalid duration"],
    ["a tracer that throws a missing method", throwing("unsupported method"), "unsupported method"],
    ["a tracer that throws a failure", throwing("internal error"), "internal error"],
    ["a tracer that throws a refusal", throwing("Unauthorized"), "Unauthorized"],
    ["a tracer that throws a lack", throwing("missing trie node 0x11"), "missing trie node"],
  ])("%s is told to its caller, and pauses no node for another", async (_what, options, text) => {
    for (let each = 0; each < 8; each += 1) {
      const { envelope } = await trace(network, options);
      expect(envelope.error?.message).toContain(text);
    }
    const before = nodes.flatMap(({ calls }) => calls).length;
    const balance = [`0x${"11".repeat(20)}`, "latest"];
    const other = await ask("other-key", network, "eth_getBalance", balance);
    expect(other).toMatchObject({ status: 200, envelope: { result: "0x01" } });
    expect(nodes.flatMap(({ calls }) => calls).length).toBeGreaterThan(before);
    const traced = await ask("other-key", network, "debug_traceCall", [{}, "latest", {}]);
    expect(traced.envelope.result).toEqual({});
    for (const name of NAMES)
      expect(
        await readGauge(gateway, "headgate_upstream_paused_seconds", `upstream="${name}"`),
      ).toBe(0);
  });
});
