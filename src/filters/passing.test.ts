// Filters and subscriptions while a network passes calls through: never silent.
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { filterBookOver, PassingChain } from "../../test/support/passing-chain.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { epochFormatters } from "./formatters.ts";
import type { PushChannel } from "./subscription.ts";
import { Subscriptions } from "./subscriptions.ts";

const never = new AbortController().signal;
const delivery = { onSent: (task: (wasSent: boolean) => void) => task(true) };
const caller = { holder: "test", signal: never, delivery };

/** A clock whose sleeps advance its time at once. */
class HastyClock extends FakeClock {
  override async sleep(ms: number): Promise<void> {
    await this.advance(ms);
  }
}

/** A book of filters over a chain, and a poll of the filter with an id. */
function world(parts: Partial<Parameters<typeof filterBookOver>[1]> = {}) {
  const chain = new PassingChain();
  const clock = new HastyClock();
  const state = new MemoryState({ clock });
  const { book, failed } = filterBookOver(chain, { state, clock, ...parts });
  const poll = (id: string) => book.changes(id, caller, () => undefined);
  return { chain, clock, state, book, failed, poll };
}

it("a poll says that no node answers, and the next poll has everything", async () => {
  const { chain, book, failed, poll } = world();
  const { id } = await book.begin({ kind: "blocks" }, caller);
  chain.passThrough();
  chain.grow();
  chain.isAway = true;
  await expect(poll(id)).rejects.toMatchObject({ status: 503 });
  expect(failed).toEqual(["polled"]);
  chain.isAway = false;
  expect(await poll(id)).toMatchObject({ items: [`"${chain.head.hash}"`], isOfNodes: true });
});

it("a filter whose blocks no node has any more ends, and says up to where its client has all", async () => {
  const { chain, book, failed, poll } = world();
  chain.passThrough();
  chain.grow();
  const { id } = await book.begin({ kind: "blocks" }, caller);
  const begun = chain.head.number;
  for (let count = 0; count < 300; count += 1) chain.grow();
  chain.blocks = chain.blocks.slice(-10);
  const lastBlock = `0x${begun.toString(16)}`;
  await expect(poll(id)).rejects.toMatchObject({
    message: "filter not found",
    data: { lastBlock },
  });
  expect(failed).toEqual(["polled"]);
  await expect(poll(id)).rejects.toMatchObject({ message: "filter not found" });
});

it("a filter of an epoch network says why there is nothing to be told", async () => {
  const { chain, book, poll } = world({ formatters: epochFormatters(1) });
  const { id } = await book.begin({ kind: "blocks" }, caller);
  chain.passThrough();
  await expect(poll(id)).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining("a block cannot be taken in"),
  });
});

it("changes that were told in part are found again, also where a reorg removed them since", async () => {
  const { chain, book } = world();
  const finder = book.changesFinderFor({ kind: "logs", criteria: {} });
  const { number, hash } = chain.head;
  chain.passThrough();
  for (let count = 0; count < 3; count += 1) chain.grow(2);
  const { items, at } = await finder.find({ number, hash }, caller);
  expect(items).toHaveLength(3);
  const again = await finder.retrace({ number, hash }, at, caller);
  expect(again.items.map(String)).toEqual(items.map(String));
  chain.isForgetful = true;
  chain.reorganise(2);
  const { items: kept } = await finder.retrace({ number, hash }, at, caller);
  expect(kept.map(String)).toEqual(items.map(String));
});

it("a stored block whose receipts no node gave any more has its logs asked of the nodes", async () => {
  const { chain, book, poll } = world();
  const { id } = await book.begin({ kind: "logs", criteria: {} }, caller);
  chain.passThrough();
  for (let count = 0; count < 3; count += 1) chain.grow();
  const [, first, bare, last] = chain.blocks;
  chain.bare.add(bare?.hash ?? "");
  chain.follow(last?.number);
  const { items } = await poll(id);
  expect(items.map(String)).toEqual([first, bare, last].map((block) => block?.log));
  expect(chain.calls.filter((method) => method === "eth_getLogs")).toHaveLength(1);
});

it("a cursor below a block that cannot be stored goes on over that block", async () => {
  const { chain, book, poll } = world();
  const { id } = await book.begin({ kind: "blocks" }, caller);
  chain.passThrough();
  for (let count = 0; count < 3; count += 1) chain.grow();
  const [, first, odd, last] = chain.blocks;
  chain.odd.add(odd?.hash ?? "");
  chain.follow(last?.number);
  const { items, isOfNodes } = await poll(id);
  expect(items).toEqual([first, odd, last].map((block) => `"${block?.hash}"`));
  expect(isOfNodes).toBe(true);
});

it("a subscription gets new heads though no chain update comes, once each", async () => {
  const { chain, clock, book, failed } = world();
  const subscriptions = new Subscriptions(
    { prefix: "eth" },
    { filters: book, chain: chain.chain, clock },
  );
  const pushed: string[] = [];
  const sources: string[] = [];
  const channel = {
    ...{ holder: "test", signal: never, subscriptions: 0, arrived: 0, pushed: 0 },
    push: async (make: () => RawJson[], _: string, __: number, source: string) => {
      const [, item = ""] = make();
      pushed.push((JSON.parse(String(item)) as { hash: string }).hash);
      sources.push(source);
      return true;
    },
    ...{ confirm: () => undefined, allows: () => true, close: (why: string) => pushed.push(why) },
    ...{ ready: async () => true, hold: () => undefined },
    moreArrived: () => new Promise<void>(() => undefined),
  };
  chain.passThrough();
  await subscriptions.begin(
    { kind: "heads" },
    { signal: never, delivery },
    channel as unknown as PushChannel,
  );
  const told: string[] = [];
  const grow = async (isAway = false): Promise<void> => {
    chain.isAway = isAway;
    chain.grow();
    told.push(chain.head.hash);
    await clock.advance(1_000);
    for (let turn = 0; turn < 20; turn += 1) await clock.yield();
  };
  await grow();
  expect(pushed).toEqual(told);
  await grow(true);
  expect(pushed).toEqual(told.slice(0, 1));
  expect(failed).toContain("pushed");
  await grow();
  expect(pushed).toEqual(told);
  expect(new Set(sources)).toEqual(new Set(["node"]));
  await subscriptions.close();
});
