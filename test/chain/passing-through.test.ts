// Nodes that lag, and a block that no node gives in a form that can be taken in, under the real gateway: callers get the
// newest block all the time, and readiness says why.
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { ask, post } from "../support/ask.ts";
import { OddNode } from "../support/followed-in-memory.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { UNUSABLE } from "../support/oddities.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const started: ScriptedNode[] = [];
let gateway: RunningGateway;
const model = new GeneratedChain({ seed: 3, blockSeconds: 1 });
model.extend(400);
const ODD = model.head.number + 1;
/** The node whose chain has the odd block. */
const odd = new OddNode("odd", model);

async function serve(node: OddNode, syncing = "false"): Promise<string> {
  const scripted = await startScriptedNode((call) => {
    if (call.method === "eth_syncing") return result(call, syncing);
    if (call.method === "eth_blockNumber") return result(call, `"${toQuantity(node.head.number)}"`);
    if (answerOf(model, call.method, call.params) === undefined) return missing(call);
    const reply = node.reply(call.method, call.params);
    return typeof reply === "object" && reply.kind === "result"
      ? result(call, reply.json.toString())
      : missing(call);
  });
  started.push(scripted);
  return scripted.url;
}

function lagging(name: string): OddNode {
  const node = new OddNode(name, model);
  node.lag = "stopped";
  return node;
}

beforeAll(async () => {
  const common = { family: "evm", chainId: 1, window: { blocks: 64 }, headAge: "off" };
  const urls = {
    first: await serve(lagging("a")),
    syncing: await serve(lagging("b"), '{"startingBlock":"0x0","currentBlock":"0x0"}'),
    head: await serve(new OddNode("c", model)),
    odd: await serve(odd),
  };
  const upstreams = (...names: (keyof typeof urls)[]) =>
    names.map((name) => ({ name, url: urls[name] }));
  gateway = await startGatewayProcess({
    networks: {
      two: { ...common, upstreams: upstreams("first", "head") },
      three: { ...common, upstreams: upstreams("first", "syncing", "head") },
      odd: { ...common, upstreams: upstreams("odd") },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  for (const node of started) await node.close();
});

const readiness = async (): Promise<string> => {
  const response = await fetch(`${gateway.url}/readyz`);
  return `${response.status} ${await response.text()}`;
};

const newest = async (network: string): Promise<string> => {
  const body = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: ["latest", false] };
  const response = await post(gateway.endpoint(network), JSON.stringify(body));
  const { result: block } = (await response.json()) as { result?: { number?: string } };
  return `${Number(block?.number)} from ${response.headers.get("x-headgate-source")}`;
};

it.each(["two", "three"])("a node that lags does not keep the others back: %s", async (network) => {
  const want = `${model.head.number} from store`;
  await until("the head is followed", async () => (await newest(network)) === want);
});

it("an odd block is passed through, and the chain is followed again above it", async () => {
  await until("it is followed", async () => (await newest("odd")) === `${ODD - 1} from store`);
  odd.odd = UNUSABLE["garbage"]?.(ODD) ?? odd.odd;
  model.extend(1);
  await until("it passes through", async () => {
    const told = await readiness();
    return (
      told.startsWith("200 ready\n") && told.includes(`odd: calls go to the nodes: block ${ODD}`)
    );
  });
  expect(await ask(gateway.endpoint("odd"), "eth_blockNumber", [])).toMatchObject({
    result: toQuantity(ODD),
  });
  const metrics = await (await fetch(gateway.metricsUrl)).text();
  expect(metrics).toContain('headgate_network_passing_through{network="odd"} 1');
  model.extend(1);
  await until(
    "it is followed again",
    async () => (await newest("odd")) === `${ODD + 1} from store`,
  );
  expect(await readiness()).toBe("200 ready\n");
});
