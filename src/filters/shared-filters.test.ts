// Filters and the mempool journal of several processes or gateways over one state.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { addCounted, encodeFilter, removeCounted } from "./filter-record.ts";
import { type JournalParts, MempoolJournal } from "./mempool-journal.ts";
import { MempoolReader } from "./mempool-reader.ts";
import { type FindChanges, OpenFilter } from "./open-filter.ts";

const ALL = Number.POSITIVE_INFINITY;

const never = { signal: new AbortController().signal };
const hash = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const asJson = (...numbers: number[]): string[] => numbers.map((number) => `"${hash(number)}"`);

/** A node that announces the hashes of the test to all listeners. */
class Node {
  readonly name = "node";
  readonly listeners = new Set<{ onHash(hash: string): void }>();
  readonly ask = async () => ({ kind: "missing" });
  readonly announcements = {
    watchPending: async (listener: { onHash(hash: string): void }, signal: AbortSignal) => {
      this.listeners.add(listener);
      signal.addEventListener("abort", () => this.listeners.delete(listener));
      return true;
    },
  };
  tell(...numbers: number[]): void {
    for (const number of numbers)
      for (const listener of this.listeners) listener.onHash(hash(number));
  }
}

let path: string;
let state: LmdbState;
let clock: FakeClock;
let node: Node;
const closing: { close(): Promise<void> }[] = [];

const journalOf = async (over: JournalParts["state"] = state): Promise<MempoolJournal> => {
  const pool = {
    usable: () => [node] as never,
    isSettled: () => true,
    onChange: () => () => true,
  };
  const options = { network: "main", prefix: "eth" } as const;
  const journal = new MempoolJournal(options, { pool, state: over, clock });
  closing.push(journal);
  await journal.start([]);
  return journal;
};
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-shared-"));
  state = new LmdbState({ path });
  clock = new FakeClock();
  node = new Node();
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((each) => each.close()));
  await state.close();
  await rm(path, { recursive: true });
});

describe("a journal of pending transactions that two gateways share", () => {
  it("has each hash once, wherever it is read", async () => {
    const [a, b] = [await journalOf(), await journalOf()];
    const since = await a.begin(never);
    await b.begin(never);
    node.tell(1, 2, 3);
    const first = await a.since(since, ALL);
    expect(first?.items).toEqual(asJson(1, 2, 3));
    node.tell(2, 4);
    await a.since(since, ALL);
    expect((await b.since(first?.at.sequence ?? 0, ALL))?.items).toEqual(asJson(4));
    expect((await b.since(since, ALL))?.items).toEqual(asJson(1, 2, 3, 4));
  });

  it("loses nothing when the one who wrote it is gone without a word", async () => {
    let isDead = false;
    const dying: JournalParts["state"] = {
      readFrom: (...all) => state.readFrom(...all),
      append: (...all) => (isDead ? Promise.reject(new Error("dead")) : state.append(...all)),
    };
    const [a, b] = [await journalOf(dying), await journalOf()];
    const since = await a.begin(never);
    await b.begin(never);
    node.tell(1, 2);
    await a.since(since, ALL);
    isDead = true;
    node.tell(3);
    expect((await b.since(since, ALL))?.items).toEqual(asJson(1, 2, 3)); // at once: gateway b writes, too
    node.tell(4);
    expect((await b.since(since, ALL))?.items).toEqual(asJson(1, 2, 3, 4));
  });

  it("is written on at once after a restart", async () => {
    const a = await journalOf();
    const since = await a.begin(never);
    node.tell(1);
    await a.since(since, ALL);
    node.listeners.clear(); // a killed gateway releases nothing
    const again = await journalOf();
    await again.begin(never);
    node.tell(2);
    expect((await again.since(since, ALL))?.items).toEqual(asJson(1, 2));
  });

  it("is read by processes that listen to no node", async () => {
    const writer = await journalOf();
    let told = 0;
    const remote = {
      beginPending: () => writer.begin(never),
      listenToPending: () => {
        told += 1;
      },
    };
    const reader = new MempoolReader({ network: "main" }, { writer: remote, state, clock });
    const since = await reader.begin();
    const numbers = Array.from({ length: 700 }, (_, index) => index);
    node.tell(...numbers);
    await writer.since(since, ALL);
    expect((await reader.since(since, 300))?.items).toEqual(asJson(...numbers.slice(0, 300)));
    expect((await reader.since(since, ALL))?.items).toEqual(asJson(...numbers));
    node.tell(1_000);
    await writer.since(since, ALL);
    expect((await reader.since(since + 700, ALL))?.items).toEqual(asJson(1_000));
    expect(told).toBe(1);
  });

  it("is known to be lost by a reader that was away for longer than it reaches back", async () => {
    const writer = await journalOf();
    const remote = { beginPending: () => writer.begin(never), listenToPending: () => undefined };
    const reader = new MempoolReader({ network: "main" }, { writer: remote, state, clock });
    const since = await reader.begin();
    await reader.since(since, ALL);
    for (let from = 0; from < 40_000; from += 1_000) {
      node.tell(...Array.from({ length: 1_000 }, (_, index) => from + index));
      await writer.since(since + from, ALL);
    }
    expect(await reader.since(since, ALL)).toBeUndefined();
  });
});

describe("a filter that two processes poll", () => {
  const at = (number: number) => ({ number, hash: `0x${number}` });
  const upTo =
    (last: number): FindChanges =>
    async (cursors) => {
      const from = Math.min(...cursors.map((cursor) => (cursor as { number: number }).number));
      const items = Array.from({ length: last - from }, (_, index) => String(from + 1 + index));
      return { items, at: at(last) };
    };
  const text = encodeFilter({
    kind: "blocks",
    holder: "a",
    usedAtMs: 0,
    acknowledged: at(0),
    unacknowledged: [],
  });
  const key = "filter main 0x1";
  const open = (own: Clock = systemClock) =>
    new OpenFilter({ key, text, usedAtMs: 0, isShared: true }, { state, clock: own });

  it("waits for the other's answer to be sent: nothing is told twice", async () => {
    await state.update([key], () => [text]);
    const waits = Promise.withResolvers<void>();
    const sleep: Clock["sleep"] = (ms, signal) => {
      waits.resolve();
      return systemClock.sleep(ms, signal);
    };
    const [here, there] = [open(), open({ ...systemClock, sleep })];
    let sent: (wasSent: boolean) => void = () => undefined;
    const delivery = {
      onSent: (task: (wasSent: boolean) => void) => {
        sent = task;
      },
    };
    const first = await here.poll(upTo(2), { ...never, delivery }, 1);
    expect(first?.items).toEqual(["1", "2"]);
    const second = there.poll(upTo(3), { ...never, delivery: { onSent: (task) => task(true) } }, 2);
    await waits.promise;
    sent(true);
    expect((await second)?.items).toEqual(["3"]);
    await Promise.all([here.close(), there.close()]);
  });

  it("goes on when the other died with its answer", async () => {
    await state.update([key], () => [text]);
    await open().poll(upTo(2), { ...never, delivery: { onSent: () => undefined } }, 1);
    const there = open();
    const delivery = { onSent: (task: (wasSent: boolean) => void) => task(true) };
    expect((await there.poll(upTo(3), { ...never, delivery }, 2))?.items).toEqual(["1", "2", "3"]);
    await there.close();
  });

  it("is used up elsewhere, and gone here", async () => {
    await state.update([key], () => [text]);
    const filter = open();
    expect(await filter.use(1)).toBe(true);
    await state.update([key], () => [undefined]);
    expect(await filter.use(2)).toBe(false);
  });
});

describe("the filters of one key", () => {
  it("are counted over all processes, however many are made at once", async () => {
    const text = encodeFilter({
      ...{
        kind: "blocks",
        holder: "a",
        usedAtMs: 0,
        acknowledged: { number: 0, hash: "0x" },
        unacknowledged: [],
      },
    });
    const filter = (number: number) => ({
      ...{ key: `filter main 0x${number}`, text, holder: "a", weight: 1 },
      manner: "polled" as const,
    });
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, number) => addCounted(filter(number), 25, state)),
    );
    expect(made.filter(Boolean)).toHaveLength(25);
    expect(await state.list("filter main ")).toHaveLength(25);
    const one = made.indexOf(true);
    expect(await removeCounted(filter(one), state)).toBe(true);
    expect(await removeCounted(filter(one), state)).toBe(false);
    expect(await addCounted(filter(100), 25, state)).toBe(true);
    expect(await addCounted(filter(101), 25, state)).toBe(false);
  });
});
