import { afterEach, describe, expect, it } from "vitest";
import {
  type FollowedInMemory,
  followInMemory,
  type Odd,
  OddNode,
  result,
} from "../../test/support/followed-in-memory.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { isWhole, ofBlock, UNUSABLE } from "../../test/support/oddities.ts";

let followed: FollowedInMemory | undefined;
afterEach(async () => {
  const closing = followed?.follower.close();
  await followed?.pass(100);
  await closing;
  followed = undefined;
});

const BLOCK_SECONDS = 2;
const BLOCK_MS = BLOCK_SECONDS * 1_000;

function chainOf(length: number, seed = 7): GeneratedChain {
  const model = new GeneratedChain({ seed, blockSeconds: BLOCK_SECONDS });
  model.extend(length - 1);
  return model;
}

/** Nodes over one chain; each is "at head" or "far behind". */
function nodesOver(model: GeneratedChain, states: readonly string[]): OddNode[] {
  return states.map((state, index) => {
    const node = new OddNode("abc"[index] ?? "", model);
    if (state === "lagging") node.lag = "stopped";
    return node;
  });
}

/** Begins at the chain's time, with the clock at its head. */
function follow(...parameters: Parameters<typeof followInMemory>): FollowedInMemory {
  followed = followInMemory(...parameters);
  return followed;
}

/** A block every two seconds, for so many blocks; `each` runs after every block. */
async function grow(
  { pass }: FollowedInMemory,
  model: GeneratedChain,
  blocks: number,
): Promise<void> {
  for (let made = 0; made < blocks; made += 1) {
    model.extend(1);
    await pass(BLOCK_MS);
  }
}

describe("a node that lags by more than the window", () => {
  it.each([
    { states: ["lagging", "at head"] },
    { states: ["at head", "lagging"] },
    { states: ["lagging", "lagging", "at head"] },
    { states: ["at head", "lagging", "lagging"] },
    { states: ["lagging", "at head", "lagging"] },
  ])("keeps nobody from the head: $states", async ({ states }) => {
    const model = chainOf(400);
    const world = follow(nodesOver(model, states));
    await world.pass(3_000);
    expect(world.head()?.hash).toBe(model.head.hash);
    await grow(world, model, 3);
    expect(world.head()?.hash).toBe(model.head.hash);
    expect(world.follower.isLive).toBe(true);
  });

  it.each([{ states: ["lagging", "at head"] }, { states: ["lagging", "lagging", "at head"] }])(
    "is left when the other node comes later: $states",
    async ({ states }) => {
      const model = chainOf(400);
      const nodes = nodesOver(model, states);
      let isThere = false;
      const usable = () => (isThere ? nodes : nodes.slice(0, -1));
      const world = follow(nodes, { usable });
      await world.pass(3_000);
      expect(world.head()?.number).toBe(0);
      isThere = true;
      await world.pass(4_000);
      expect(world.head()?.hash).toBe(model.head.hash);
    },
  );

  it("does not take the chain back while the other node is away, nor confirm its head", async () => {
    const model = chainOf(400);
    const nodes = nodesOver(model, ["lagging", "at head"]);
    let isThere = true;
    const world = follow(nodes, { usable: () => (isThere ? nodes : nodes.slice(0, 1)) });
    await world.pass(3_000);
    isThere = false;
    const before = world.confirmed.length;
    await world.pass(30_000);
    expect(world.head()?.hash).toBe(model.head.hash);
    expect(world.confirmed.length).toBe(before);
  });
});

describe("a node that claims a head far ahead that the others would have", () => {
  it.each([{ liarIs: 0 }, { liarIs: 1 }])("is not believed as node $liarIs", async ({ liarIs }) => {
    const model = chainOf(60);
    // Its time is that of the true head.
    const invented = new GeneratedChain({ seed: 9, firstNumber: 5_000, blockSeconds: 120 });
    const honest = new OddNode("honest", model);
    const liar = new OddNode("liar", invented);
    const world = follow(liarIs === 0 ? [liar, honest] : [honest, liar]);
    await world.pass(8_000);
    expect(world.head()?.hash).toBe(model.head.hash);
    await grow(world, model, 4);
    expect(world.head()?.hash).toBe(model.head.hash);
    expect(world.follower.isLive).toBe(true);
    expect(world.follower.whyBehind).toContain("liar is");
    expect(world.gauges.behindBlocks).toBeGreaterThan(4_000);
  });
});

describe("a block that cannot be taken in", () => {
  const table = Object.keys(UNUSABLE).flatMap((what) => [1, 2].map((nodes) => ({ what, nodes })));

  it.each(table)("$what, of $nodes: passed through, and followed beyond", async (row) => {
    const model = chainOf(59);
    const nodes = nodesOver(
      model,
      Array.from({ length: row.nodes }, () => "at head"),
    );
    const world = follow(nodes);
    for (const node of nodes) node.odd = UNUSABLE[row.what]?.(60) as Odd;
    await world.pass(2_000);
    model.extend(1); // block 59
    await world.pass(BLOCK_MS);
    expect([world.head()?.number, world.follower.isLive]).toEqual([59, true]);
    model.extend(1); // block 60
    await world.pass(3 * BLOCK_MS + 500);
    expect(world.follower.isLive).toBe(false);
    expect(world.follower.whyStopped).toMatch(/block 60|in time/);
    expect(world.gauges.isPassingThrough).toBe(true);
    expect(world.lines.filter(({ msg }) => msg.includes("passed through"))).toHaveLength(1);
    model.extend(1);
    // A node that does not answer costs the attempts that wait for it.
    await world.pass(row.what.startsWith("silence") ? 20 * BLOCK_MS : 4 * BLOCK_MS);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    expect([world.follower.whyStopped, world.gauges.isPassingThrough]).toEqual([undefined, false]);
    await grow(world, model, 2);
    expect(world.head()?.hash).toBe(model.head.hash);
  });

  it.each([0, 500, 1_000, 1_500])(
    "is passed through when two nodes have it and say nothing, although one was asked before: %i ms",
    async (phaseMs) => {
      const model = chainOf(59);
      const nodes = nodesOver(model, ["at head", "at head"]);
      const world = follow(nodes);
      for (const node of nodes) node.odd = UNUSABLE["silence about receipts"]?.(59) as Odd;
      await world.pass(2_000 + phaseMs);
      model.extend(1); // block 59
      await world.pass(3 * BLOCK_MS);
      expect(world.follower.whyStopped).toContain("in time");
    },
  );

  it.each([3, 4])(
    "is passed through although a node lags: %i blocks above another",
    async (above) => {
      const model = new GeneratedChain({ seed: 7, blockSeconds: 1 });
      model.extend(150);
      const nodes = nodesOver(model, ["at head", "lagging"]);
      const world = follow(nodes);
      await world.pass(2_000);
      const [node] = nodes as [OddNode];
      const odd = [UNUSABLE["garbage"]?.(151), UNUSABLE["silence about receipts"]?.(151 + above)];
      node.odd = (call) => odd.map((each) => each?.(call)).find((each) => each !== undefined);
      // After the first odd block the node at the head is not trusted for a while, and the one that lags is followed.
      for (let block = 0; block < above; block += 1) {
        model.extend(1);
        await world.pass(1_000);
      }
      expect(world.head()?.number).toBe(150 + above);
      model.extend(1);
      await world.pass(6_000);
      expect(world.follower.whyStopped).toContain("in time");
    },
  );

  it("of a new network whose every block is garbage: it passes through from the start", async () => {
    const model = chainOf(60);
    const [node] = nodesOver(model, ["at head"]) as [OddNode];
    node.odd = ({ method, params }) => (isWhole(method) && params[1] ? result("{}") : undefined);
    const world = follow([node]);
    await world.pass(3_000);
    expect(world.follower.whyStopped).toContain("block 59 is given by no node");
  });

  it("for a lie: the head stays, and calls do not go to the liar", async () => {
    const model = chainOf(59);
    const [node] = nodesOver(model, ["at head"]) as [OddNode];
    const world = follow([node]);
    await world.pass(2_000);
    node.odd = ({ method, params, honest }) =>
      isWhole(method) && params[1]
        ? result(honest.replace(/"gasLimit":"0x./, '"gasLimit":"0xf'))
        : undefined;
    await grow(world, model, 8);
    expect([world.head()?.number, world.follower.isLive]).toEqual([58, true]);
    expect(world.follower.whyStuck).toContain("block 59");
    node.odd = () => undefined;
    await world.pass(6_000);
    expect(world.head()?.hash).toBe(model.head.hash);
  });

  it("that one of two nodes gives is taken from that one", async () => {
    const model = chainOf(59);
    const nodes = nodesOver(model, ["at head", "at head"]);
    const world = follow(nodes);
    await world.pass(2_000);
    (nodes[0] as OddNode).odd = UNUSABLE["garbage"]?.(59) as Odd;
    await grow(world, model, 3);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    expect(world.lines.filter(({ msg }) => msg.includes("passed through"))).toEqual([]);
  });

  it("a head that one node claims and nobody gives stops nothing", async () => {
    const model = chainOf(59);
    const nodes = nodesOver(model, ["at head", "at head"]);
    const world = follow(nodes);
    await world.pass(2_000);
    (nodes[1] as OddNode).odd = ({ params, honest }) =>
      params[0] === `0x${model.head.number.toString(16)}`
        ? result(
            honest
              .replace(/"number":"0x[0-9a-f]+"/, '"number":"0x3d"')
              .replace(model.head.hash, `0x${"ab".repeat(32)}`),
          )
        : undefined;
    await world.pass(20_000);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
  });
});

describe("a chain that leaves out heights", () => {
  /** How nodes answer for a height without a block. */
  const NONE: Readonly<Record<string, Odd>> = {
    null: () => undefined,
    "an error": ({ method, honest }) =>
      method === "eth_getBlockByNumber" && honest === "null"
        ? { kind: "refused", code: 1, message: "requested epoch was a null round", json: "{}" }
        : undefined,
  };

  it.each(Object.keys(NONE).flatMap((answer) => [1, 2, 3].map((nodes) => ({ answer, nodes }))))(
    "is followed, and reorganised: $answer, of $nodes",
    async ({ answer, nodes: count }) => {
      const model = chainOf(20);
      model.skip(2);
      model.extend(3);
      const nodes = nodesOver(
        model,
        Array.from({ length: count }, () => "at head"),
      );
      for (const node of nodes) node.odd = NONE[answer] as Odd;
      const world = follow(nodes);
      await world.pass(2_000);
      expect(world.head()?.hash).toBe(model.head.hash);
      for (const skipped of [1, 0, 9, 3]) {
        model.skip(skipped);
        model.extend(1);
        await world.pass(BLOCK_MS);
        expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
      }
      model.reorganise(2, 0);
      model.skip(1);
      model.extend(14);
      await world.pass(2 * BLOCK_MS);
      expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    },
  );

  it("gives a node no way to hide a block", async () => {
    const model = chainOf(59);
    const [node] = nodesOver(model, ["at head"]) as [OddNode];
    const world = follow([node]);
    await world.pass(2_000);
    node.odd = ofBlock(59, (method) => (isWhole(method) ? result("null") : undefined));
    model.extend(2);
    await world.pass(BLOCK_MS);
    expect(world.head()?.number).toBe(58);
  });
});

describe("a node that turns to another chain", () => {
  const stranger = (ahead: number): GeneratedChain => {
    const model = new GeneratedChain({ seed: 99, blockSeconds: BLOCK_SECONDS });
    model.extend(59 + ahead);
    return model;
  };
  const turned = ({ lines }: FollowedInMemory) =>
    lines.filter(({ msg }) => msg.startsWith("an upstream is on another chain"));

  const table = [1, 5, 30, 500].flatMap((ahead) =>
    [
      { turns: 0, of: 2 },
      { turns: 1, of: 2 },
      { turns: 0, of: 3 },
      { turns: 2, of: 3 },
    ].map((row) => ({ ahead, ...row })),
  );

  it.each(table)("$ahead blocks ahead is not followed: node $turns of $of", async (row) => {
    const model = chainOf(60);
    const nodes = nodesOver(
      model,
      Array.from({ length: row.of }, () => "at head"),
    );
    const world = follow(nodes);
    await world.pass(2_000);
    const turning = nodes[row.turns] as OddNode;
    turning.model = stranger(row.ahead);
    await world.pass(8_000);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    await grow(world, model, 5);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    expect(turned(world)).toHaveLength(1);
    expect(nodes.map(({ isOnOtherBranch }) => isOnOtherBranch)).toEqual(
      nodes.map((node) => node === turning),
    );
    expect(world.lines.filter(({ msg }) => msg.includes("begins anew"))).toEqual([]);
  });

  it.each([
    { isComplete: true, of: 1 },
    { isComplete: true, of: 2 },
    { isComplete: false, of: 2 },
  ])("is followed when no other node has ours: $isComplete, of $of", async (row) => {
    const model = chainOf(60);
    const nodes = nodesOver(
      model,
      Array.from({ length: row.of }, () => "at head"),
    );
    let usable = nodes;
    const world = follow(nodes, { usable: () => usable });
    await world.pass(2_000);
    if (!row.isComplete) usable = nodes.slice(0, 1);
    const other = stranger(3);
    for (const node of usable) node.model = other;
    await world.pass(row.isComplete ? 2_000 : 1_500);
    if (!row.isComplete) expect(world.head()?.hash).toBe(model.head.hash);
    await world.pass(row.isComplete ? 0 : 10_000);
    expect([world.head()?.hash, world.follower.isLive]).toEqual([other.head.hash, true]);
  });

  it.each([{ ahead: 3 }, { ahead: 500 }])(
    "$ahead blocks ahead and alone is not followed while it does not tell the chain id",
    async ({ ahead }) => {
      const model = chainOf(60);
      const [node] = nodesOver(model, ["at head"]) as [OddNode];
      const world = follow([node]);
      await world.pass(2_000);
      node.isOfNetwork = false;
      node.model = stranger(ahead);
      await world.pass(20_000);
      expect(world.head()?.hash).toBe(model.head.hash);
    },
  );

  it("from the start begins no store", async () => {
    const [node] = nodesOver(chainOf(60), ["at head"]) as [OddNode];
    node.isOfNetwork = false;
    const world = follow([node]);
    await world.pass(5_000);
    expect(world.head()).toBeUndefined();
    node.isOfNetwork = true;
    await world.pass(5_000);
    expect(world.head()?.number).toBe(59);
  });
});

describe("a node that invents newer blocks beside nodes at our head", () => {
  const claims: Readonly<Record<string, { ahead: number; odd: Odd }>> = {
    "and gives garbage below them": { ahead: 2, odd: UNUSABLE["garbage"]?.(60) as Odd },
    "and withholds the one below them": {
      ahead: 2,
      odd: ofBlock(60, (method) => (isWhole(method) ? result("null") : undefined)),
    },
    "and falls silent": {
      ahead: 2,
      odd: ofBlock(60, (method) => (isWhole(method) ? "silent" : undefined)),
    },
    "without their receipts": { ahead: 1, odd: UNUSABLE["no receipts"]?.(60) as Odd },
    "a window ahead": { ahead: 90, odd: () => undefined },
  };
  const table = Object.keys(claims).flatMap((how) =>
    [
      { liar: 0, of: 2 },
      { liar: 1, of: 2 },
      { liar: 0, of: 3 },
      { liar: 2, of: 4 },
    ].map((row) => ({ how, ...row })),
  );

  it.each(table)("changes nothing: $how, node $liar of $of", async ({ how, liar, of: count }) => {
    const { ahead, odd } = claims[how] as (typeof claims)[string];
    const model = chainOf(60);
    const nodes = nodesOver(
      model,
      Array.from({ length: count }, () => "at head"),
    );
    const world = follow(nodes);
    await world.pass(2_000);
    const lying = nodes[liar] as OddNode;
    lying.model = chainOf(60 + ahead);
    lying.odd = odd;
    await world.pass(30_000); // the chain rests: that is no reason to believe the node
    expect([world.head()?.hash, world.follower.isLive]).toEqual([model.head.hash, true]);
    expect(world.lines.filter(({ msg }) => /passed through|begins anew/.test(msg))).toEqual([]);
    expect(world.gauges.isPassingThrough).toBe(false);
  });
});

describe("where proof is strict", () => {
  it.each(Object.keys(UNUSABLE))("nothing passes through: %s", async (what) => {
    const model = chainOf(59);
    const [node] = nodesOver(model, ["at head"]) as [OddNode];
    const world = follow([node], { proof: "strict" });
    node.odd = UNUSABLE[what]?.(60) as Odd;
    await world.pass(2_000);
    model.extend(2); // blocks 59 and 60
    await world.pass(10 * BLOCK_MS);
    expect([world.head()?.number, world.follower.isLive]).toEqual([59, true]);
    expect([world.follower.whyStopped, world.gauges.isPassingThrough]).toEqual([undefined, false]);
    expect(world.follower.whyStuck).toContain("block 60");
  });
});
