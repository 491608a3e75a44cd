// A thousand random schedules (30 in `npm test`) of blocks, reorgs, polls, dying nodes and restarts: a client that only
// applies its filter's items ends with exactly the logs of the canonical chain.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FilterBook } from "../../src/filters/filter-book.ts";
import { blockFormatters } from "../../src/filters/formatters.ts";
import { MempoolJournal } from "../../src/filters/mempool-journal.ts";
import type { Delivery } from "../../src/filters/open-filter.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { atDepth } from "../support/depth.ts";
import { type FollowedChain, followChain, ModelNode } from "../support/followed-chain.ts";
import { type Filter, matches } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { itInRandomWorlds } from "../support/random-worlds.ts";
import { FilterClient, type Log } from "./filter-client.ts";

const WORLDS = atDepth(3, 20);
const SCHEDULES = atDepth(10, 50);
/** Fewer blocks than a filter may miss, so that the gateway must fetch blocks again. */
const WINDOW = 16;
/** So few items in an answer that a long one comes in parts. */
const ITEMS = 12;
const HOLDER = "test";

/** The gateway's parts for filters, over two nodes of one chain. */
class World {
  readonly model: GeneratedChain;
  readonly random: Random;
  readonly nodes: readonly ModelNode[];
  #followed!: FollowedChain;
  #state!: LmdbState;
  book!: FilterBook;
  readonly #path: string;

  constructor(seed: number, path: string) {
    this.model = new GeneratedChain({
      seed,
      addresses: 4,
      topics: 6,
      logs: [0, 4],
      transactions: [0, 1],
    });
    this.model.extend(WINDOW);
    this.random = new Random(seed * 104_729);
    this.nodes = [new ModelNode("a", this.model), new ModelNode("b", this.model)];
    this.#path = path;
  }

  async open(): Promise<void> {
    await this.launch();
    await this.settled();
  }

  async launch(): Promise<void> {
    const { model, nodes } = this;
    const path = join(this.#path, "chain");
    this.#followed = await followChain(model, { path, windowBlocks: WINDOW, nodes });
    this.#state = new LmdbState({ path: join(this.#path, "state") });
    const { chain, pool } = this.#followed;
    const parts = { state: this.#state, clock: systemClock };
    this.book = new FilterBook(
      {
        network: "test",
        perKey: { polled: 1_000, pushed: 1_000 },
        most: ITEMS,
        isShared: false,
        sweeps: true,
      },
      {
        ...parts,
        chain: chain.views,
        journal: new MempoolJournal({ network: "test", prefix: "eth" }, { ...parts, pool }),
        formatters: blockFormatters,
        metrics: new Metrics(),
      },
    );
    await this.book.start();
  }

  settled(): Promise<unknown> {
    return this.#followed.settled();
  }

  /** Resolves once callers can see the chain, or the condition holds. */
  async shown(isEnough: () => boolean = () => false): Promise<void> {
    while (!this.#followed.chain.views.view() && !isEnough())
      await new Promise((resolve) => setImmediate(resolve));
  }

  async close(): Promise<void> {
    await this.book.close();
    await this.#followed.chain.close();
    await this.#state.close();
  }
}

/** A client, its filter, and the block at which the filter was made. */
type Listener = {
  readonly id: string;
  readonly client: FilterClient;
  readonly filter: Filter | undefined;
  readonly since: number;
};

function expectToBeAt({ model }: World, { client, filter, since }: Listener): void {
  if (filter) {
    client.expectLogs(logsOf(model, filter));
    return;
  }
  const hashes = Array.from(
    { length: Math.max(0, model.head.number - since) },
    (_, index) => model.block(since + 1 + index)?.hash ?? "",
  );
  client.expectHashes(hashes, (hash) => model.byHash(hash)?.number);
}

function logsOf(model: GeneratedChain, filter: Filter): Log[] {
  const found: Log[] = [];
  for (let number = model.firstNumber; number <= model.head.number; number += 1)
    for (const log of model.block(number)?.logs ?? [])
      if (matches(log, filter)) found.push(JSON.parse(log.json));
  return found;
}

function randomFilter({ random, model }: World): Filter {
  const { addresses, topics } = model.words;
  const some = (values: readonly string[]): string[] =>
    Array.from({ length: random.below(3) }, () => random.one(values));
  return {
    address: some(addresses),
    topics: Array.from({ length: random.below(3) }, () => (random.below(2) ? null : some(topics))),
  };
}

/** The end of an answer: it arrives, it is lost, or the gateway dies before it learns which. */
type Ending = "arrives" | "is lost" | "gateway dies";

async function poll(world: World, { id, client }: Listener, ending: Ending): Promise<number> {
  let finish: (wasSent: boolean) => void = () => undefined;
  const delivery: Delivery = {
    onSent: (task) => {
      finish = task;
    },
  };
  const { signal } = new AbortController();
  const { items } = await world.book.changes(
    id,
    { holder: HOLDER, signal, delivery },
    () => undefined,
  );
  const isHeard =
    ending === "arrives" || (ending === "gateway dies" && world.random.below(2) === 0);
  if (isHeard) client.hear(items.map((item) => JSON.parse(String(item))));
  if (ending === "gateway dies") client.mayHearAgain = true;
  else finish(ending === "arrives");
  return items.length;
}

async function step(world: World, listeners: readonly Listener[]): Promise<void> {
  const { model, random, nodes } = world;
  const depth = 1 + random.below(8);
  switch (random.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
      model.reorganise(depth, depth + random.below(3));
      break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      model.extend(1 + random.below(random.below(8) === 0 ? 2 * WINDOW : 4));
      break;
    case 9: {
      // One of the two nodes is always alive.
      const [one, other] = random.below(2) ? nodes : nodes.toReversed();
      if (one && other) {
        one.isAlive = false;
        other.isAlive = true;
      }
      break;
    }
    case 10:
      await restart(world, listeners);
      break;
    default:
      for (const listener of listeners)
        if (random.below(2)) await poll(world, listener, random.below(4) ? "arrives" : "is lost");
  }
  if (random.below(3)) await world.settled();
}

async function restart(world: World, listeners: readonly Listener[]): Promise<void> {
  const { random } = world;
  const dying = listeners.filter(() => random.below(4) === 0);
  for (const listener of dying) await poll(world, listener, "gateway dies");
  await world.close();
  await world.open();
}

async function runSchedule(world: World): Promise<void> {
  const { model, random, book } = world;
  await world.settled();
  const { signal } = new AbortController();
  const listeners: Listener[] = [];
  for (const filter of [randomFilter(world), {}, undefined]) {
    const asked = filter
      ? ({ kind: "logs", criteria: filter } as const)
      : ({ kind: "blocks" } as const);
    const { id } = await book.begin(asked as never, { holder: HOLDER, signal });
    const client = new FilterClient(filter && logsOf(model, filter));
    listeners.push({ id, client, filter, since: model.head.number });
  }
  const steps = 6 + random.below(10);
  for (let done = 0; done < steps; done += 1) await step(world, listeners);
  await world.settled();
  for (const listener of listeners) {
    while ((await poll(world, listener, "arrives")) > 0);
    expectToBeAt(world, listener);
    expect(await world.book.remove(listener.id, { holder: HOLDER })).toBe(true);
  }
}

describe.concurrent("a random world", () => {
  itInRandomWorlds(
    `leaves every client with the canonical logs, after each of ${SCHEDULES} schedules`,
    { worlds: WORLDS, schedules: SCHEDULES },
    { make: (seed, path) => new World(seed, path), run: runSchedule },
  );
});

/** A new store fetches so many blocks at once, more than the backfill does. */
const ASKED_AT_ONCE = 8;

it("begins with the blocks that a reorganisation may drop: a filter made at once outlives it", async () => {
  const path = await mkdtemp(join(tmpdir(), "headgate-schedules-"));
  const world = new World(1, path);
  const { model, nodes } = world;
  const mayAnswer = Promise.withResolvers<void>();
  let held = 0;
  for (const node of nodes) {
    const { ask } = node;
    const slow: typeof ask = async (method, paramsJson) => {
      // Whole blocks below the head.
      if (/^\["0x[0-9a-f]+",true\]$/.test(paramsJson) && method === "eth_getBlockByNumber") {
        held += 1;
        await mayAnswer.promise;
      }
      return ask(method, paramsJson);
    };
    Object.assign(node, { ask: slow });
  }
  await world.launch();
  try {
    await world.shown(() => held >= ASKED_AT_ONCE);
    mayAnswer.resolve();
    await world.shown();
    const { signal } = new AbortController();
    const { id } = await world.book.begin(
      { kind: "logs", criteria: {} },
      { holder: HOLDER, signal },
    );
    const client = new FilterClient(logsOf(model, {}));
    const depth = WINDOW - 2;
    model.rollBack(depth); // no node knows the dropped blocks any more
    model.extend(depth + 1);
    await world.settled();
    const listener = { id, client, filter: {}, since: model.head.number };
    while ((await poll(world, listener, "arrives")) > 0);
    expectToBeAt(world, listener);
  } finally {
    await world.close();
    await rm(path, { recursive: true, force: true });
  }
});
