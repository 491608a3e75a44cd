// Nodes whose URL leads to another chain from one moment to the next, under the real gateway: beside an honest node callers
// notice nothing, and operators are told. A development chain that is begun again is followed.
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { post } from "../support/ask.ts";
import { OddNode } from "../support/followed-in-memory.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const started: ScriptedNode[] = [];
let gateway: RunningGateway;
const chainOf = (seed: number, length: number): GeneratedChain => {
  const model = new GeneratedChain({ seed, blockSeconds: 1 });
  model.extend(length);
  return model;
};
const ours = chainOf(3, 100);
const theirs = chainOf(4, 400);

class TurningNode extends OddNode {
  chainId = "0x1";

  /** From now on the node's URL leads to the other chain. */
  turn(chainId = "0x1"): void {
    this.model = theirs;
    this.chainId = chainId;
  }
}

async function serve(node: TurningNode): Promise<string> {
  const scripted = await startScriptedNode(
    (call) => {
      if (call.method === "eth_syncing") return result(call, "false");
      if (call.method === "eth_blockNumber")
        return result(call, `"${toQuantity(node.head.number)}"`);
      if (answerOf(node.model, call.method, call.params) === undefined) return missing(call);
      const reply = node.reply(call.method, call.params);
      return typeof reply === "object" && reply.kind === "result"
        ? result(call, reply.json.toString())
        : missing(call);
    },
    0,
    false,
    () => node.chainId,
  );
  started.push(scripted);
  return scripted.url;
}

const honest = new TurningNode("honest", ours);
const turning = {
  "4242-first": new TurningNode("a", ours),
  "4242-last": new TurningNode("b", ours),
  "same-first": new TurningNode("c", ours),
  "same-last": new TurningNode("d", ours),
  alone: new TurningNode("e", ours),
};
type Name = keyof typeof turning;

beforeAll(async () => {
  const common = { family: "evm", chainId: 1, window: { blocks: 64 }, headAge: "off" };
  const beside = { name: "honest", url: await serve(honest) };
  const networks = await Promise.all(
    Object.entries(turning).map(async ([name, node]) => {
      const own = { name: "turning", url: await serve(node) };
      const upstreams =
        name === "alone" ? [own] : name.endsWith("first") ? [own, beside] : [beside, own];
      return [name, { ...common, upstreams }];
    }),
  );
  gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
});
afterAll(async () => {
  await gateway?.stop();
  for (const node of started) await node.close();
});

const newest = async (network: string): Promise<string> => {
  const body = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: ["latest", false] };
  const response = await post(gateway.endpoint(network), JSON.stringify(body));
  const { result: block } = (await response.json()) as { result?: { hash?: string } };
  return `${block?.hash} from ${response.headers.get("x-headgate-source")}`;
};
const isAt = async (network: Name, { head }: GeneratedChain): Promise<void> => {
  await until(
    `${network} is there`,
    async () => (await newest(network)) === `${head.hash} from store`,
  );
};

const beside: readonly [Name, string, RegExp][] = [
  ["4242-first", "0x1092", /"chainId":4242,"want":1,.*upstream is on another chain/],
  ["4242-last", "0x1092", /"chainId":4242,"want":1,.*upstream is on another chain/],
  ["same-first", "0x1", /an upstream is on another chain than the other upstreams/],
  ["same-last", "0x1", /an upstream is on another chain than the other upstreams/],
];

it.each(beside)("a node that turns beside an honest one is left: %s", async (name, id, line) => {
  await isAt(name, ours);
  turning[name].turn(id);
  const lines = (): string[] =>
    gateway.log
      .map((each) => JSON.stringify(each))
      .filter((each) => each.includes(`"network":"${name}"`));
  await until("operators are told", async () => lines().some((each) => line.test(each)));
  expect(await newest(name)).toBe(`${ours.head.hash} from store`);
  honest.model.extend(1);
  await isAt(name, ours);
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  expect(lines().filter((each) => each.includes("begins anew"))).toEqual([]);
});

it("a node that is alone and begun again is followed to its new chain", async () => {
  await isAt("alone", ours);
  turning.alone.turn();
  await isAt("alone", theirs);
});
