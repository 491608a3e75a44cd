// Random chains made odd in random ways, of one to three nodes, under the real gateway: every answer is that of an
// honest node that has everything, or an error that says why there is none.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { type Envelope, post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import {
  type Asked,
  type Lack,
  lacks,
  OddChain,
  OddServer,
  type OwnWay,
  ownWays,
} from "../support/odd-network.ts";
import { UNUSABLE } from "../support/oddities.ts";
import { until } from "../support/processes.ts";

const UNLISTED = 424_242;
const WINDOW = 16;
const BLOCKS = 60;
/** How many chains one gateway follows at a time: more of them would be as slow as nodes that give no answer. */
const AT_ONCE = 4;
/** The longest time until a chain is followed above the odd block, with many others on a busy machine. */
const LONGEST_MS = 30_000;

type Story = {
  readonly seed: number;
  readonly way: OwnWay;
  /** The lacks of the further nodes, and where the node that has everything stands among them. */
  readonly others: readonly Lack[];
  readonly place: number;
  /** Whether the node that has everything gives logs from the newest to the oldest. */
  readonly isReversed: boolean;
  readonly skipped: number;
  /** The way in which the next block cannot be taken in, and the nodes that give it so. */
  readonly unusable: string | null;
  readonly of: "all" | "first" | "last";
};

const story: fc.Arbitrary<Story> = fc.record({
  seed: fc.nat(10_000),
  way: fc.constantFrom(...ownWays),
  others: fc.array(fc.constantFrom(...lacks), { maxLength: 2 }),
  place: fc.nat(2),
  isReversed: fc.boolean(),
  skipped: fc.constantFrom(0, 0, 1, 3),
  unusable: fc.option(fc.constantFrom(...Object.keys(UNUSABLE))),
  of: fc.constantFrom("all", "first", "last"),
});

/** Errors that docs/errors.md lists for an answer that the gateway does not have. */
const SAYS_WHY =
  /^(no upstream (could answer|gave this block in a form that can be proven|has the receipts of this block, and so its logs|is available for this network)|upstream timeout|the chain changes faster than it can be read, try again)/;

type World = {
  readonly name: string;
  readonly told: Story;
  readonly chain: OddChain;
  readonly servers: readonly OddServer[];
  readonly random: Random;
  /** The number of the block that may be odd. */
  odd: number;
};

const ONE_NETWORK = { family: "evm", chainId: UNLISTED, headAge: "off" };

async function makeWorld(told: Story, index: number): Promise<World> {
  const model = new GeneratedChain({ seed: told.seed, blockSeconds: 1, transactions: [1, 4] });
  model.extend(BLOCKS / 2);
  model.skip(told.skipped);
  model.extend(BLOCKS / 2);
  const chain = new OddChain(model, told.way);
  const kinds: Lack[] = [...told.others];
  kinds.splice(told.place, 0, told.isReversed ? "the order of logs" : "nothing");
  const keptFrom = model.head.number - WINDOW - 8;
  const servers = await Promise.all(
    kinds.map((lack) => new OddServer(chain, { lack, keptFrom, chainId: UNLISTED }).listen()),
  );
  const random = new Random(told.seed);
  return { name: `n-${index}`, told, chain, servers, random, odd: model.head.number + 1 };
}

const settingsOf = ({ name, servers }: World) => [
  name,
  {
    ...ONE_NETWORK,
    window: { blocks: WINDOW },
    upstreams: servers.map(({ url }, index) => ({ name: "abc"[index], url, price: index })),
  },
];

/** The odd block comes, with whatever makes it odd. */
function growOdd({ told, chain, servers, odd }: World): void {
  const { unusable, of } = told;
  if (unusable) {
    const those = of === "all" ? servers : [servers.at(of === "first" ? 0 : -1) as OddServer];
    for (const server of those) server.odd = UNUSABLE[unusable]?.(odd) ?? server.odd;
  }
  chain.model.extend(1);
}

/** Questions about blocks up to the head that the gateway told. */
function questionsTo({ chain, random, odd }: World, head: number): Asked[] {
  const { model } = chain;
  const recent = Math.max(0, head - random.below(WINDOW));
  const numbers = [head, recent, random.below(head), Math.min(odd, head)];
  const questions: Asked[] = [];
  const ask = (method: string, ...params: unknown[]): void =>
    void questions.push({ method, params });
  for (const number of numbers) {
    const block = model.block(number);
    const height = toQuantity(number);
    ask("eth_getBlockByNumber", height, random.below(2) === 0);
    ask("eth_getBlockReceipts", height);
    ask("eth_getBlockTransactionCountByNumber", height);
    ask("eth_getTransactionByBlockNumberAndIndex", height, "0x0");
    const from = Math.max(0, number - random.below(40));
    const address = random.below(2) ? {} : { address: random.one(model.words.addresses) };
    ask("eth_getLogs", { fromBlock: toQuantity(from), toBlock: height, ...address });
    if (!block) continue;
    const hash = chain.withOwnHashes(block.hash);
    ask("eth_getBlockByHash", hash, random.below(2) === 0);
    ask("eth_getLogs", { blockHash: hash, ...address });
    const transaction = block.signed[random.below(block.signed.length)]?.hash;
    if (!transaction) continue;
    ask("eth_getTransactionByHash", transaction);
    ask("eth_getTransactionReceipt", transaction);
  }
  return questions;
}

const groups = Array.from({ length: atDepth(1, 6) }, (_, group) => group);

describe.each(groups)("some odd chains, %i", (group) => {
  let gateway: RunningGateway;
  let worlds: readonly World[];

  beforeAll(async () => {
    const stories = fc.sample(story, AT_ONCE * groups.length);
    const told = stories.slice(AT_ONCE * group, AT_ONCE * (group + 1));
    worlds = await Promise.all(told.map(makeWorld));
    gateway = await startGatewayProcess({ networks: Object.fromEntries(worlds.map(settingsOf)) });
  });
  afterAll(async () => {
    await gateway?.stop();
    for (const { servers } of worlds) for (const server of servers) await server.close();
  });

  const askAll = async ({ name }: World, calls: readonly Asked[]): Promise<Envelope[]> => {
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await post(gateway.endpoint(name), JSON.stringify(body));
    return (await response.json()) as Envelope[];
  };

  const askOne = async (world: World, method: string, ...params: unknown[]): Promise<Envelope> =>
    (await askAll(world, [{ method, params }]))[0] as Envelope;

  const headOf = async (world: World): Promise<number> => {
    const { result, error } = await askOne(world, "eth_blockNumber");
    if (error) expect(error.message).toMatch(SAYS_WHY);
    return error ? -1 : Number(result);
  };

  /**
   * Whether the odd block may be passed on as a node gives it: no node has a proper one, or the network passes through
   * for long, since a node without the block leaves it open whether headers hash in an unknown way.
   */
  const isUnusable = ({ told, servers }: World): boolean =>
    told.unusable !== null &&
    (told.of === "all" ||
      told.way === "blocks of its own hash" ||
      servers.filter(({ isWhole }) => isWhole).length < 2);

  const isAbout = (truth: unknown, number: number): boolean => {
    const { number: own, blockNumber = own } = Object([truth].flat()[0]) as Record<string, unknown>;
    return Number(blockNumber) === number;
  };

  /** The answers that are wrong, in words. */
  const wrong: string[] = [];

  const compare = (world: World, asked: Asked, { result, error }: Envelope): void => {
    const { chain, told } = world;
    const truth = JSON.parse(chain.truth(asked) ?? "null") as unknown;
    if (isUnusable(world) && isAbout(truth, world.odd)) return;
    if (error ? SAYS_WHY.test(error.message) : isDeepStrictEqual(result, truth)) return;
    const [got, want] = [error ?? result, truth].map((value) =>
      JSON.stringify(value).slice(0, 200),
    );
    wrong.push(JSON.stringify({ asked, told, got, want }));
  };

  const askRound = async (world: World): Promise<void> => {
    const head = await headOf(world);
    if (head < 0) return;
    const questions = questionsTo(world, head);
    const answers = await askAll(world, questions);
    for (const [index, asked] of questions.entries())
      compare(world, asked, answers[index] as Envelope);
  };

  /** Filters from now on; their items are those of the blocks from now on, in order. */
  const openFilters = async (world: World) => {
    const { chain } = world;
    const first = chain.model.head.number + 1;
    const opened = await askAll(world, [
      { method: "eth_newFilter", params: [{}] },
      { method: "eth_newBlockFilter", params: [] },
    ]);
    const changes = opened.map(({ result }) => ({
      method: "eth_getFilterChanges",
      params: [result],
    }));
    const got: unknown[][] = [[], []];
    const wanted = (): unknown[][] => {
      const blocks = [];
      for (let number = first; number <= chain.model.head.number; number += 1)
        blocks.push(chain.model.block(number)?.hash ?? "");
      const range = { fromBlock: toQuantity(first), toBlock: "latest" };
      return [
        JSON.parse(chain.truth({ method: "eth_getLogs", params: [range] }) ?? ""),
        blocks.map((hash) => chain.withOwnHashes(hash)),
      ];
    };
    const areThere = async (): Promise<boolean> => {
      const answers = await askAll(world, changes);
      for (const [index, { result, error }] of answers.entries()) {
        if (error) expect(error.message, JSON.stringify(world.told)).toMatch(SAYS_WHY);
        else got[index]?.push(...(result as unknown[]));
      }
      const want = wanted();
      const told = { told: world.told };
      expect({ ...told, got }).toEqual({
        ...told,
        got: got.map((items, index) => want[index]?.slice(0, items.length)),
      });
      return got.every((items, index) => items.length === want[index]?.length);
    };
    return { areThere };
  };

  it("have the answers of an honest node, or say why not", async () => {
    await Promise.all(
      worlds.map(async (world) => {
        const { model } = world.chain;
        await until(
          `${world.name} has a head`,
          async () => (await headOf(world)) === model.head.number,
        );
        const filters = await openFilters(world);
        await askRound(world);
        growOdd(world);
        for (let round = 0; round < 3; round += 1) await askRound(world);
        model.extend(2);
        await until(
          `${world.name} goes on: ${JSON.stringify(world.told)}`,
          async () => {
            await askRound(world);
            return (await headOf(world)) === model.head.number;
          },
          LONGEST_MS,
        );
        await until(`the filters of ${world.name} go on`, () => filters.areThere(), LONGEST_MS);
      }),
    );
    expect(wrong).toEqual([]);
  });
});
