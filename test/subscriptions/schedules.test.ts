// A thousand random schedules (24 in `npm test`) of blocks and reorgs, sockets that break at any byte, clients that
// stop reading, gateways that are killed, and clients that go to another one: each gets each event once, and in order.
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FleetGateway } from "../fleet/fleet.ts";
import { post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import type { Filter } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";
import { ExpectedHeads, ExpectedLogs } from "./expected-notifications.ts";
import { type Stream, Subscriber } from "./subscriber.ts";

/** The number of worlds, each a chain and two gateways; all clients of a round run at the same time. */
const WORLDS = atDepth(1, 4);
const ROUNDS = atDepth(1, 5);
const CLIENTS = atDepth(24, 50);
const STEPS = 8;
const WINDOW = 256;
const LATEST = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber" },
  params: ["latest", false],
});

/** A chain, its nodes, and the gateways over them. */
class World {
  readonly chain: GeneratedChain;
  readonly random: Random;
  #nodes: readonly ScriptedNode[] = [];
  #redis: RedisServer | undefined;
  #gateways: readonly FleetGateway[] = [];
  #isDown = -1;

  constructor(seed: number) {
    const logs = [0, 5] as const;
    this.chain = new GeneratedChain({ seed, addresses: 4, topics: 6, logs, blockSeconds: 0 });
    this.chain.extend(32);
    this.random = new Random(seed * 104_729);
  }

  async open(): Promise<void> {
    this.#nodes = await Promise.all([1, 2].map(() => startGeneratedNode(this.chain)));
    this.#redis = hasRedis ? await startRedis() : undefined;
    const one = () => startOne(this.#nodes, this.#redis);
    this.#gateways = await Promise.all(this.#redis ? [one(), one()] : [one()]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#gateways.map((gateway) => gateway.close()));
    await Promise.all(this.#nodes.map((node) => node.close()));
    await this.#redis?.close();
  }

  /** The endpoints of the gateways that run. */
  endpoints(): readonly string[] {
    const there = this.#gateways.filter((_, index) => index !== this.#isDown);
    return (there.length > 0 ? there : this.#gateways).map((gateway) => gateway.endpoint());
  }

  async settled(): Promise<void> {
    await Promise.all(this.#gateways.map((gateway) => this.#isAtHead(gateway)));
  }

  async move(): Promise<void> {
    const depth = 1 + this.random.below(8);
    if (this.random.below(3) === 0) this.chain.reorganise(depth, depth + this.random.below(3));
    else this.chain.extend(1 + this.random.below(3));
    await pause(this.random.below(120));
  }

  /** Kills one of the gateways, and starts it again. */
  async kill(): Promise<void> {
    this.#isDown = this.random.below(this.#gateways.length);
    const gateway = this.#gateways[this.#isDown];
    await gateway?.kill();
    await gateway?.restart();
    this.#isDown = -1;
  }

  #isAtHead(gateway: FleetGateway): Promise<unknown> {
    return until("the gateway has the head", async () => {
      const response = await post(gateway.endpoint(), LATEST);
      const { result } = (await response.json()) as { result?: { hash: string } };
      const isStored = response.headers.get("x-headgate-source") === "store";
      return isStored && result?.hash === this.chain.head.hash;
    });
  }
}

async function startOne(
  nodes: readonly ScriptedNode[],
  redis: RedisServer | undefined,
): Promise<FleetGateway> {
  const data = await mkdtemp(join(tmpdir(), "headgate-subscription-schedules-"));
  const upstreams = nodes.map(({ url }) => ({ url }));
  const settings = {
    ...(redis && { state: redis.url }),
    limits: { webSocket: { connections: 1_000, subscriptions: 10_000, messages: 1_000 } },
    networks: { main: { family: "evm", chainId: 1, window: { blocks: WINDOW }, upstreams } },
  };
  return new FleetGateway(
    { settings, data },
    { running: await startGatewayProcess({ data, ...settings }) },
  );
}

function randomFilter(random: Random, { words }: GeneratedChain): Filter {
  const some = (values: readonly string[]): string[] =>
    Array.from({ length: random.below(3) }, () => random.one(values));
  const topics = Array.from({ length: random.below(3) }, () =>
    random.below(2) ? null : some(words.topics),
  );
  return { address: some(words.addresses), topics };
}

/** Disturbs a client while the chain moves, and expects that it has all events in the end. */
async function live(world: World, client: Subscriber, isOver: () => boolean): Promise<void> {
  for (let step = 0; step < STEPS && !client.fault; step += 1) await client.suffer();
  while (!isOver() && !client.fault) await client.suffer();
  await world.settled();
  let why: string | undefined;
  const hasAll = async (): Promise<boolean> => {
    if (client.fault) throw client.fault;
    if (!client.isThere) await client.subscribe();
    const left = client.streams.filter(({ expected }) => expected.whyNotAtEnd() !== undefined);
    why = left
      .map(({ id, received, expected }) => `${id} ${received}: ${expected.whyNotAtEnd()}`)
      .join();
    return left.length === 0;
  };
  await until("all is told", hasAll).catch((cause: unknown) => {
    throw client.fault ?? new Error(why, { cause });
  });
  client.drop();
}

async function round(world: World, seed: number): Promise<void> {
  await world.settled();
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const random = new Random(seed * 1_000 + index);
    const told = [
      new ExpectedHeads(world.chain),
      new ExpectedLogs(world.chain, randomFilter(random, world.chain)),
    ];
    return new Subscriber(told, { random, endpoints: () => world.endpoints() });
  });
  await Promise.all(clients.map((client) => client.subscribe()));
  let isOver = false;
  const lives = clients.map((client, index) =>
    live(world, client, () => isOver).catch((cause: unknown) => {
      throw new Error(`round ${seed}, client ${index}: ${(cause as Error).message}`, { cause });
    }),
  );
  const ended = Promise.all(lives);
  ended.catch(() => undefined);
  for (let step = 0; step < 3 * STEPS; step += 1) {
    await world.move();
    if (step === STEPS) await world.kill();
  }
  isOver = true;
  await ended;
}

describe.skipIf(!hasRedis)("a subscription that is resumed at another gateway", () => {
  it("leaves the socket at the first one, which is closed when there is something to tell", async () => {
    const world = new World(99);
    try {
      await world.open();
      await world.settled();
      const [first = "", second = ""] = world.endpoints();
      const random = new Random(1);
      const here = new Subscriber([new ExpectedHeads(world.chain)], {
        random,
        endpoints: () => [first],
      });
      await here.subscribe();
      const closed = once(here.socket, "close");
      const there = new Subscriber([new ExpectedHeads(world.chain)], {
        random,
        endpoints: () => [second],
      });
      (there.streams[0] as Stream).id = here.streams[0]?.id ?? "";
      await there.subscribe();
      world.chain.extend(1);
      expect((await closed)[0]).toBe(4002);
      await until("it is told there", async () => there.streams[0]?.received === 1);
      expect([here.fault, there.fault]).toEqual([undefined, undefined]);
      expect(here.streams[0]?.received).toBe(0);
      there.drop();
    } finally {
      await world.close();
    }
  });
});

describe("subscriptions in a random world", () => {
  it.each(Array.from({ length: WORLDS }, (_, index) => index + 1))(
    `are told each event once and in order, by ${ROUNDS} times ${CLIENTS} schedules, seed %i`,
    async (seed) => {
      const world = new World(seed);
      try {
        await world.open();
        for (let index = 0; index < ROUNDS; index += 1) await round(world, seed * 100 + index);
      } finally {
        await world.close();
      }
      expect(world.endpoints().length).toBeGreaterThan(0);
    },
    120_000,
  );
});
