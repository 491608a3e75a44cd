// Two nodes on different branches for a while, or with one node silent: which chain does the gateway follow?
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type FollowedChain, followChain, ModelNode } from "../support/followed-chain.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { within } from "../support/served-time.ts";

let close: () => Promise<void>;

afterEach(() => close());

/** Opens two nodes with the same chain; the first one leads. */
async function openTwo(blockSeconds: number) {
  const models = [1, 2].map(() => new GeneratedChain({ seed: 7, blockSeconds }));
  const [first, second] = models as [GeneratedChain, GeneratedChain];
  for (const model of models) model.extend(10);
  const path = await mkdtemp(join(tmpdir(), "headgate-branches-"));
  const nodes = [new ModelNode("first", first), new ModelNode("second", second)] as const;
  const followed = await followChain(first, { path, windowBlocks: 8, nodes });
  close = async () => {
    await followed.chain.close();
    await rm(path, { recursive: true, force: true });
  };
  await followed.settled();
  return { ...followed, first, second, nodes };
}

const headIs = ({ chain }: Pick<FollowedChain, "chain">, { head }: GeneratedChain): boolean =>
  chain.views.view()?.head.hash === head.hash;

/** A bound far below the time after which the gateway gives up a silent node. */
const goesOn = (isSo: () => Promise<boolean>, ms: number): Promise<void> =>
  within({ what: "the chain goes on", ms }, isSo);

it.each([
  ["as high", 1],
  ["a block lower", 2],
])("does not follow one node to a branch that is %s", async (_, depth) => {
  const { first, second, nodes, ...followed } = await openTwo(1);
  first.reorganise(depth, 1);
  await until("the first node is found elsewhere", async () => nodes[0].isOnOtherBranch);
  expect(headIs(followed, second)).toBe(true);
  second.extend(1);
  await until("the chain goes on", async () => headIs(followed, second));
});

it("follows both to a branch that is as high", async () => {
  const { first, second, nodes, ...followed } = await openTwo(1);
  first.reorganise(1, 1);
  await until("the first node is found elsewhere", async () => nodes[0].isOnOtherBranch);
  second.reorganise(1, 1);
  await until("both are followed", async () => headIs(followed, second));
  expect(headIs(followed, first)).toBe(true);
});

it("follows one node to a branch that is two blocks longer", async () => {
  const { first, nodes, ...followed } = await openTwo(1);
  first.reorganise(1, 1);
  await until("the first node is found elsewhere", async () => nodes[0].isOnOtherBranch);
  first.extend(2);
  await until("it is followed", async () => headIs(followed, first));
  expect(nodes.map(({ isOnOtherBranch }) => isOnOtherBranch)).toEqual([false, true]);
});

it("follows a node to a branch that is as high when the other one is away", async () => {
  const { first, nodes, ...followed } = await openTwo(1);
  nodes[1].isAlive = false;
  first.reorganise(1, 1);
  await until("it is followed", async () => headIs(followed, first));
});

it("does not go back with one node while the other is silent", async () => {
  const { first, second, nodes, ...followed } = await openTwo(1);
  nodes[1].isAlive = false;
  first.rollBack(3);
  const last = nodes[0].asked + 20;
  await until("the first node was looked at often", async () => {
    await followed.chain.look();
    return nodes[0].asked > last;
  });
  expect(headIs(followed, second)).toBe(true);
});

it("goes back with one node in the end, when the other stays silent", async () => {
  const { first, nodes, ...followed } = await openTwo(1);
  nodes[1].isAlive = false;
  first.rollBack(3);
  await until("it is followed", async () => headIs(followed, first));
});

it.each([
  ["the block", "eth_getBlockByHash"],
  ["its receipts", "eth_getBlockReceipts"],
  ["its head", "eth_getBlockByNumber"],
])(
  "goes on with one node that once fails to give %s, while the other is silent",
  async (_, method) => {
    const { first, second, nodes, ...followed } = await openTwo(1);
    nodes[0].isSilent = true;
    nodes[1].failsNext = method;
    for (const model of [first, second]) model.extend(1);
    await goesOn(async () => headIs(followed, second), 10_000);
    expect(nodes[1].failsNext).toBeUndefined();
  },
);

it("goes on with one node when the other stopped below the head, and says nothing more", async () => {
  const { second, nodes, ...followed } = await openTwo(1);
  second.extend(2);
  await until("the chain is where one node is", async () => headIs(followed, second));
  nodes[0].isSilent = true;
  nodes[1].failsNext = "eth_getBlockByNumber"; // the gateway forgets the head that this node told
  await until("it failed", async () => nodes[1].failsNext === undefined);
  second.extend(1);
  await goesOn(async () => headIs(followed, second), 10_000);
});

it("follows nodes that all take more than a second for an answer", async () => {
  const { first, second, nodes, ...followed } = await openTwo(1);
  for (const node of nodes) node.delayMs = 1_700;
  for (const model of [first, second]) model.extend(1);
  await goesOn(async () => headIs(followed, second), 20_000);
});
