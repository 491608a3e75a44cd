// A filter over a network that is followed, passes calls through, is reorganised and restarted at random: its client gets
// exactly what the filter of a followed chain gives.
import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { filterBookOver, PassingChain } from "../../test/support/passing-chain.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { FilterBook } from "./filter-book.ts";

/** A clock whose sleeps advance its time at once. */
class HastyClock extends FakeClock {
  override async sleep(ms: number): Promise<void> {
    await this.advance(ms);
  }
}

const never = new AbortController().signal;

class Client {
  readonly chain: PassingChain;
  readonly #state = new MemoryState({ clock: new FakeClock() });
  readonly #isShared: boolean;
  #book: FilterBook;
  #id = "";
  /** The blocks whose logs the client holds. */
  readonly #held: Set<string>;

  constructor(chain: PassingChain, isShared: boolean) {
    this.chain = chain;
    this.#isShared = isShared;
    this.#book = this.#open();
    this.#held = new Set(chain.blocks.map(({ hash }) => hash));
  }

  #open(): FilterBook {
    const parts = { state: this.#state, clock: new HastyClock() };
    return filterBookOver(this.chain, parts, this.#isShared).book;
  }

  async begin(): Promise<void> {
    const caller = { holder: "test", signal: never };
    this.#id = (await this.#book.begin({ kind: "logs", criteria: {} }, caller)).id;
  }

  async restart(): Promise<void> {
    await this.#book.close();
    this.#book = this.#open();
    await this.#book.start();
  }

  /** @returns The number of items; an error's HTTP status where the gateway said that it could not answer. */
  async poll(arrives = true): Promise<number> {
    const delivery = { onSent: (task: (wasSent: boolean) => void) => task(arrives) };
    const caller = { holder: "test", signal: never, delivery };
    try {
      const { items } = await this.#book.changes(this.#id, caller, () => undefined);
      if (arrives) this.#take(items.map((item) => JSON.parse(String(item)) as Log));
      return items.length;
    } catch (error) {
      if (!(error instanceof RpcError) || (error.status !== 503 && error.status !== 502))
        throw error;
      return -error.status;
    }
  }

  /** Removed logs come first, newest block first; then new logs, oldest first. None comes twice. */
  #take(logs: readonly Log[]): void {
    const numbers = (isRemoved: boolean): number[] =>
      logs.filter(({ removed }) => removed === isRemoved).map((log) => Number(log.blockNumber));
    expect(logs.map(({ removed }) => removed)).toEqual([
      ...numbers(true).map(() => true),
      ...numbers(false).map(() => false),
    ]);
    expect(numbers(true)).toEqual(numbers(true).sort((a, b) => b - a));
    expect(numbers(false)).toEqual(numbers(false).sort((a, b) => a - b));
    for (const { removed, blockHash } of logs) {
      expect(this.#held.has(blockHash)).toBe(removed);
      // A block that a reorg removed does not come back, so no block of the chain may be reported as removed.
      if (removed) expect(this.chain.blocks.map(({ hash }) => hash)).not.toContain(blockHash);
      if (removed) this.#held.delete(blockHash);
      else this.#held.add(blockHash);
    }
  }

  /** Polls until nothing is new, and compares all logs that the client holds with those of the chain. */
  async settle(): Promise<void> {
    for (let left = 100; (await this.poll()) !== 0; left -= 1) expect(left).toBeGreaterThan(0);
    expect([...this.#held].sort()).toEqual(this.chain.blocks.map(({ hash }) => hash).sort());
  }
}

type Log = { readonly removed: boolean; readonly blockHash: string; readonly blockNumber: string };

const step = fc.oneof(
  fc.record({ kind: fc.constant("grow" as const), step: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("grow far" as const), blocks: fc.integer({ min: 20, max: 150 }) }),
  fc.record({ kind: fc.constant("reorganise" as const), depth: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant("poll" as const), arrives: fc.boolean() }),
  fc.constant({ kind: "poll" as const, arrives: true }),
  fc.constant({ kind: "pass through" as const }),
  fc.constant({ kind: "follow" as const }),
  fc.constant({ kind: "follow anew" as const }),
  fc.constant({ kind: "restart" as const }),
  fc.constant({ kind: "odd" as const }),
  fc.record({ kind: fc.constant("lag" as const), blocks: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    kind: fc.constant("reorganise within" as const),
    calls: fc.integer({ min: 1, max: 9 }),
  }),
  fc.constant({ kind: "away" as const }),
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

async function take(one: Step, client: Client): Promise<void> {
  const { chain } = client;
  switch (one.kind) {
    case "grow":
      chain.grow(one.step);
      if (chain.isFollowed) chain.follow();
      return;
    case "grow far":
      for (let count = 0; count < one.blocks; count += 1) chain.grow(count % 7 === 6 ? 2 : 1);
      if (chain.isFollowed) chain.follow();
      return;
    case "reorganise":
      chain.reorganise(one.depth);
      if (chain.isFollowed) chain.follow();
      return;
    case "poll":
      await client.poll(one.arrives);
      return;
    case "pass through":
      return chain.passThrough();
    case "follow":
      return chain.follow();
    case "follow anew":
      return chain.follow(chain.blocks.at(-2)?.number);
    case "restart":
      return client.restart();
    case "odd":
      return void chain.odd.add(chain.head.hash);
    case "lag":
      chain.lag = one.blocks;
      return;
    case "reorganise within": {
      let left = one.calls;
      chain.onCall = () => {
        left -= 1;
        if (left === 0) chain.reorganise(2);
      };
      await client.poll();
      chain.onCall = () => undefined;
      if (chain.isFollowed) chain.follow();
      return;
    }
    case "away":
      chain.isAway = true;
      await client.poll();
      chain.isAway = false;
  }
}

it("a filter gives each log once, whether the network is followed or passes calls through", async () => {
  const worlds = fc.record({
    steps: fc.array(step, { maxLength: 30 }),
    beginsPassing: fc.boolean(),
    isShared: fc.boolean(),
    // A window that begins anew and nodes that forget together lose what was removed meanwhile.
    isForgetful: fc.boolean(),
    leftOut: fc.constantFrom("null" as const, "error" as const, "the block before" as const),
  });
  await fc.assert(
    fc.asyncProperty(worlds, async ({ steps, beginsPassing, isShared, isForgetful, leftOut }) => {
      const chain = new PassingChain();
      Object.assign(chain, { leftOut, isForgetful });
      if (beginsPassing) chain.passThrough();
      const client = new Client(chain, isShared);
      await client.begin();
      const isLasting = ({ kind }: Step): boolean => kind !== "follow anew" || !isForgetful;
      for (const one of steps.filter(isLasting)) await take(one, client);
      chain.lag = 0;
      await client.settle();
      chain.follow();
      await client.settle();
    }),
    { numRuns: 300 },
  );
});
