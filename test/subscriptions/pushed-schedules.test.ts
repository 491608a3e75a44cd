// Random schedules of blocks, reorgs, sockets that break between any two notifications, processes that die, and others
// that push in their place: a client that counts gets each event once, and in order. In this process.
import { join } from "node:path";
import { describe, expect } from "vitest";
import { FilterBook } from "../../src/filters/filter-book.ts";
import type { FilterQuestion } from "../../src/filters/filter-record.ts";
import { blockFormatters } from "../../src/filters/formatters.ts";
import { MempoolJournal } from "../../src/filters/mempool-journal.ts";
import type { PushChannel } from "../../src/filters/subscription.ts";
import { Subscriptions } from "../../src/filters/subscriptions.ts";
import type { RawJson } from "../../src/jsonrpc/raw-json.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import type { State } from "../../src/state/state.ts";
import { FilterClient, type Log } from "../filters/filter-client.ts";
import { atDepth } from "../support/depth.ts";
import { type FollowedChain, followChain } from "../support/followed-chain.ts";
import { type Filter, matches } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { itInRandomWorlds } from "../support/random-worlds.ts";

const WORLDS = atDepth(2, 10);
const SCHEDULES = atDepth(5, 50);
const WINDOW = 64;
/** So few items that one look tells only some of the blocks. */
const ITEMS = 12;
const HOLDER = "test";
const caller = {
  signal: new AbortController().signal,
  delivery: { onSent: (task: (wasSent: boolean) => void) => task(true) },
};

/** A socket: notifications arrive in order, and the last ones may never arrive. */
class Socket implements PushChannel {
  readonly holder = HOLDER;
  subscriptions = 0;
  readonly #ending = new AbortController();
  readonly signal = this.#ending.signal;
  /** The notifications that the client has not received yet, each with its count. */
  readonly handed: { readonly item: RawJson; readonly count: number }[] = [];
  pushed = 0;
  arrived = 0;
  /** The caller does not read. */
  isStuck = false;
  why: string | undefined;
  #release: (() => void)[] = [];

  async push(make: () => readonly RawJson[], _method: string, count: number): Promise<boolean> {
    if (this.isStuck) await new Promise<void>((resolve) => this.#release.push(resolve));
    if (this.signal.aborted) return false;
    const [, item = ""] = make();
    this.handed.push({ item, count });
    this.pushed += 1;
    return true;
  }

  async ready(): Promise<boolean> {
    if (this.isStuck) await new Promise<void>((resolve) => this.#release.push(resolve));
    return !this.signal.aborted;
  }

  hold(): void {}

  confirm(): void {}

  moreArrived(): Promise<void> {
    this.arrived = this.pushed;
    return new Promise(setImmediate);
  }

  allows(): boolean {
    return true;
  }

  close(why: string): void {
    this.why = why;
    this.cut();
  }

  cut(): void {
    this.#ending.abort();
    this.isStuck = false;
    for (const release of this.#release.splice(0)) release();
  }
}

/** A process that pushes, until it is killed: then all its writes fail. */
class Process {
  isDead = false;
  readonly subscriptions: Subscriptions;
  readonly #book: FilterBook;
  readonly #stop: () => void;

  constructor({ chain, pool }: FollowedChain, shared: State) {
    const mayWrite = <Value>(act: () => Promise<Value>): Promise<Value> =>
      this.isDead ? Promise.reject(new Error("dead")) : act();
    const state = Object.assign(Object.create(shared) as State, {
      get: (key: string) => shared.get(key),
      list: (prefix: string) => shared.list(prefix),
      update: (...all: Parameters<State["update"]>) => mayWrite(() => shared.update(...all)),
    });
    const parts = { state, clock: systemClock };
    this.#book = new FilterBook(
      {
        network: "test",
        perKey: { polled: 10, pushed: 10_000 },
        ...{ most: ITEMS, isShared: true, sweeps: false },
      },
      {
        ...parts,
        chain: chain.views,
        journal: new MempoolJournal({ network: "test", prefix: "eth" }, { ...parts, pool }),
        formatters: blockFormatters,
        metrics: new Metrics(),
      },
    );
    const { clock } = parts;
    const made = { filters: this.#book, chain: chain.views, clock };
    this.subscriptions = new Subscriptions({ prefix: "eth" }, made);
    this.#stop = chain.onUpdate(() => {
      if (!this.isDead) this.subscriptions.look();
    });
  }

  async kill(): Promise<void> {
    this.isDead = true;
    await this.close();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.subscriptions.close();
    await this.#book.close();
  }
}

/** A client that counts the notifications that it receives. */
class Client {
  id = "";
  received = 0;
  socket = new Socket();
  readonly asked: FilterQuestion;
  readonly #heads: string[] = [];
  readonly #logs: FilterClient;
  readonly #model: GeneratedChain;

  constructor(filter: Filter | undefined, model: GeneratedChain) {
    this.asked = filter ? { kind: "logs", criteria: filter as never } : { kind: "heads" };
    this.#model = model;
    this.#logs = new FilterClient(filter && logsOf(model, filter));
    for (let number = model.firstNumber; number <= model.head.number; number += 1)
      this.#heads[number] = model.block(number)?.hash ?? "";
  }

  /** Receives the first notifications of its socket. */
  hear(count = this.socket.handed.length): void {
    for (const { item, count: told } of this.socket.handed.splice(0, count)) {
      this.received += 1;
      expect(told).toBe(this.received);
      const value = JSON.parse(String(item));
      if (this.asked.kind === "logs") this.#logs.hear([value]);
      else this.#hearHead(value);
    }
  }

  #hearHead({ number, hash, parentHash }: Record<"number" | "hash" | "parentHash", string>): void {
    const height = Number(number);
    expect(this.#heads[height - 1], "positions on what was told").toBe(parentHash);
    expect(this.#heads).not.toContain(hash);
    this.#heads.length = height;
    this.#heads.push(hash);
  }

  isAtHead(): boolean {
    if (this.asked.kind !== "logs") return this.#heads.at(-1) === this.#model.head.hash;
    try {
      this.#logs.expectLogs(logsOf(this.#model, this.asked.criteria as Filter));
      return true;
    } catch {
      return false;
    }
  }
}

function logsOf(model: GeneratedChain, filter: Filter): Log[] {
  const found: Log[] = [];
  for (let number = model.firstNumber; number <= model.head.number; number += 1)
    for (const log of model.block(number)?.logs ?? [])
      if (matches(log, filter)) found.push(JSON.parse(log.json));
  return found;
}

class World {
  readonly model: GeneratedChain;
  readonly random: Random;
  followed!: FollowedChain;
  processes: Process[] = [];
  #state!: LmdbState;
  readonly #path: string;

  constructor(seed: number, path: string) {
    this.model = new GeneratedChain({ seed, addresses: 4, topics: 6, logs: [0, 6] });
    this.model.extend(16);
    this.random = new Random(seed * 104_729);
    this.#path = path;
  }

  async open(): Promise<void> {
    const path = join(this.#path, "chain");
    this.followed = await followChain(this.model, { path, windowBlocks: WINDOW });
    this.#state = new LmdbState({ path: join(this.#path, "state") });
    await this.followed.settled();
    this.processes = [0, 1].map(() => this.#process());
  }

  #process(): Process {
    return new Process(this.followed, this.#state);
  }

  /** Kills one of the processes, and replaces it. */
  async kill(): Promise<void> {
    const at = this.random.below(this.processes.length);
    await this.processes[at]?.kill();
    this.processes[at] = this.#process();
  }

  async close(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.close()));
    await this.followed.chain.close();
    await this.#state.close();
  }
}

/** Resumes on a new socket, while the old one may still be open, or may be silent. */
async function comeAgain(world: World, client: Client): Promise<void> {
  const { random, processes } = world;
  const { socket, id, asked } = client;
  client.hear(random.below(socket.handed.length + 1));
  const heard = socket.pushed - socket.handed.length;
  socket.arrived = Math.max(socket.arrived, random.below(heard + 1));
  if (random.below(3)) socket.cut();
  const next = new Socket();
  client.socket = next;
  const { subscriptions } = random.one(processes);
  await subscriptions.resume({ id, asked, received: client.received }, caller, next);
  if (random.below(2)) socket.cut();
}

async function step(world: World, clients: readonly Client[]): Promise<void> {
  const { model, random, followed } = world;
  const depth = 1 + random.below(8);
  const action = random.below(12);
  if (action < 3) model.reorganise(depth, depth + random.below(3));
  else if (action < 7) model.extend(1 + random.below(4));
  else if (action === 7) await world.kill();
  else {
    const client = random.one(clients);
    if (random.below(3) === 0) client.socket.isStuck = true;
    else await comeAgain(world, client);
  }
  if (random.below(2)) await followed.settled();
  for (let turns = random.below(40); turns > 0; turns -= 1) await new Promise(setImmediate);
}

async function runSchedule(world: World): Promise<void> {
  const { model, random, followed, processes } = world;
  await followed.settled();
  const { addresses } = model.words;
  const filters = [undefined, {}, { address: [random.one(addresses)] }, undefined] as const;
  const clients = filters.map((filter) => new Client(filter as Filter | undefined, model));
  for (const client of clients)
    client.id = await random
      .one(processes)
      .subscriptions.begin(client.asked, caller, client.socket);
  for (let done = 6 + random.below(12); done > 0; done -= 1) await step(world, clients);
  await followed.settled();
  for (const client of clients) {
    await comeAgain(world, client);
    await until("all is told", async () => {
      client.hear();
      return client.isAtHead();
    }).catch((cause: unknown) => {
      throw new Error(`${JSON.stringify(client.asked)} ${client.socket.why}: ${cause}`, { cause });
    });
    client.socket.cut();
  }
}

describe.concurrent("subscriptions in a random world", () => {
  itInRandomWorlds(
    `tell each event once and in order, in each of ${SCHEDULES} schedules`,
    { worlds: WORLDS, schedules: SCHEDULES },
    { make: (seed, path) => new World(seed, path), run: runSchedule },
  );
});
