// Nodes may report anything as safe and finalized: callers get blocks of the chain, safe is never behind finalized, and
// neither is ahead of the head.
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

type Block = { readonly number: string; readonly hash: string } | null;
/** The blocks that a node reports by tag, made from its head: a block of the chain, another one, or anything. */
type Tags = {
  readonly safe: (head: number) => unknown;
  readonly finalized: (head: number) => unknown;
};

const OTHER_HASH = `0x${"ab".repeat(32)}`;
const chain = new GeneratedChain({ seed: 7, transactions: [0, 1], blockSeconds: 1 });
chain.extend(60);
const below = (depth: number) => (head: number) => blockAt(head - depth);
const blockAt = (number: number): unknown =>
  JSON.parse(answerOf(chain, "eth_getBlockByNumber", [toQuantity(number), false]) ?? "null");
const strange = (number: number) => ({
  ...(blockAt(0) as object),
  number: toQuantity(number),
  hash: OTHER_HASH,
});

const CASES: readonly { what: string; tags: readonly [Tags, Tags] }[] = [
  { what: "as they should be", tags: twice({ safe: below(4), finalized: below(8) }) },
  { what: "finalized ahead of safe", tags: twice({ safe: below(8), finalized: below(2) }) },
  {
    what: "both ahead of the head",
    tags: twice({ safe: (head) => strange(head + 9), finalized: (head) => strange(head + 5) }),
  },
  {
    what: "finalized ahead of the head, safe far behind",
    tags: twice({ safe: below(30), finalized: (head) => strange(head + 1_000_000) }),
  },
  {
    what: "blocks of no chain",
    tags: twice({ safe: (head) => strange(head - 2), finalized: (head) => strange(head - 1) }),
  },
  { what: "safe unknown", tags: twice({ safe: () => null, finalized: below(3) }) },
  { what: "finalized unknown", tags: twice({ safe: below(3), finalized: () => null }) },
  {
    what: "texts, lists and numbers that are none",
    tags: twice({ safe: () => "safe", finalized: () => [{ number: "0x-1" }, 7] }),
  },
  {
    what: "each node something else",
    tags: [
      { safe: below(20), finalized: (head) => strange(head - 1) },
      { safe: (head) => strange(head + 3), finalized: below(1) },
    ],
  },
  { what: "further back than before", tags: twice({ safe: below(40), finalized: below(50) }) },
  { what: "the first block", tags: twice({ safe: () => blockAt(0), finalized: below(6) }) },
];

function twice(tags: Tags): readonly [Tags, Tags] {
  return [tags, tags];
}

let told: readonly [Tags, Tags] = CASES[0]?.tags ?? twice({ safe: below(1), finalized: below(2) });
let nodes: readonly ScriptedNode[];
let gateway: RunningGateway;

beforeAll(async () => {
  nodes = await Promise.all(
    [0, 1].map((index) =>
      startScriptedNode((call) => {
        const [tag] = call.params;
        const tags = told[index as 0 | 1];
        if (call.method === "eth_getBlockByNumber" && (tag === "safe" || tag === "finalized"))
          return result(call, JSON.stringify(tags[tag](chain.head.number)));
        const json = answerOf(chain, call.method, call.params);
        return json === undefined ? missing(call) : result(call, json);
      }),
    ),
  );
  gateway = await startGatewayProcess({
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 30 } },
        upstreams: nodes.map(({ url }, index) => ({ name: `node${index}`, url })),
      },
    },
  });
  await until("the chain is followed", async () => {
    const latest = { jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] };
    const { headers } = await post(gateway.endpoint("main"), JSON.stringify(latest));
    return headers.get("x-headgate-source") === "store";
  });
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all((nodes ?? []).map((node) => node.close()));
});

const block = async (tag: string): Promise<Block> =>
  (await ask(gateway.endpoint("main"), "eth_getBlockByNumber", [tag, false])).result as Block;
const blocks = async (tags: readonly string[]): Promise<Block[]> => {
  const batch = tags.map((tag, id) => ({
    ...{ jsonrpc: "2.0", id, method: "eth_getBlockByNumber", params: [tag, false] },
  }));
  const response = await post(gateway.endpoint("main"), JSON.stringify(batch));
  const answers = (await response.json()) as { id: number; result?: Block }[];
  return tags.map((_, id) => answers.find((answer) => answer.id === id)?.result ?? null);
};

/** Expects that the known blocks are in this order, and that each is a block of the chain. */
function expectOrdered(...[finalized, safe, latest]: readonly (Block | undefined)[]): void {
  const known = [finalized, safe, latest].flatMap((each) => (each ? [each] : []));
  for (const { number, hash } of known) expect(hash).toBe(chain.block(Number(number))?.hash);
  const numbers = known.map(({ number }) => Number(number));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  expect(latest).not.toBeNull();
}

it.each(CASES)("are in order when nodes tell $what", async ({ tags }) => {
  for (const isSafeFirst of [true, false]) {
    told = tags;
    chain.extend(1);
    await until("the new head is seen", async () => {
      return Number((await block("latest"))?.number) === chain.head.number;
    });
    const [one, other] = isSafeFirst ? ["safe", "finalized"] : ["finalized", "safe"];
    const [first, second] = [await block(one ?? ""), await block(other ?? "")];
    const [finalized, safe] = isSafeFirst ? [second, first] : [first, second];
    expectOrdered(finalized, safe, await block("latest"));
    const [newest, ...batch] = await blocks(["latest", one ?? "", other ?? ""]);
    expectOrdered(...(isSafeFirst ? batch.toReversed() : batch), newest);
  }
});
