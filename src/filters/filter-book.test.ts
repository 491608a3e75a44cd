import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { FilterBook } from "./filter-book.ts";
import { blockFormatters } from "./formatters.ts";
import { MempoolJournal } from "./mempool-journal.ts";

const MINUTE_MS = 60_000;
const NOT_FOUND = { code: -32000, message: "filter not found" };
const head = { number: 7, hash: `0x${"a".repeat(64)}` };
/** A chain that stands still. */
const view = {
  ...{ head, tail: 0, holds: true },
  hashAt: () => head.hash,
  droppedBlock: (hash: string) => (hash === head.hash ? {} : undefined),
};
const caller = {
  holder: "test",
  signal: new AbortController().signal,
  delivery: { onSent: (task: (wasSent: boolean) => void) => task(true) },
};

let path: string;
let state: LmdbState;
let clock: FakeClock;
const books: FilterBook[] = [];
let counted: object;
let headOfNodes: typeof head | undefined;
/** The view after `reach`. */
let reached: typeof view | undefined;

const open = async (isFollowed = true): Promise<FilterBook> => {
  const pool = { usable: () => [], isSettled: () => true, onChange: () => () => true };
  let seen = isFollowed ? view : undefined;
  const book = new FilterBook(
    { network: "main", perKey: { polled: 3, pushed: 3 }, most: 10, isShared: false, sweeps: true },
    {
      state,
      chain: {
        view: () => seen as never,
        liveView: async () => seen as never,
        headOfNodes: async () => headOfNodes,
        reach: async () => {
          seen ??= reached;
        },
      },
      journal: new MempoolJournal({ network: "main", prefix: "eth" }, { pool, state, clock }),
      formatters: blockFormatters,
      clock,
      metrics: {
        ...{ filterWalkedNodes: () => undefined, filterUnserved: () => undefined },
        filtersCounted: (_, kinds) => {
          counted = { ...kinds };
        },
      },
    },
  );
  books.push(book);
  await book.start();
  return book;
};
const make = async (book: FilterBook): Promise<string> =>
  (await book.begin({ kind: "blocks" }, caller)).id;
const isThere = (book: FilterBook, id: string): Promise<boolean> =>
  book
    .changes(id, caller, () => undefined)
    .then(
      () => true,
      () => false,
    );
/** Waits until the state has `count` filters: a sweep takes a while on disk. */
const swept = async (count: number): Promise<void> => {
  while ((await state.list("filter main ")).length !== count) await new Promise(setImmediate);
};

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-filters-"));
  state = new LmdbState({ path });
  clock = new FakeClock();
  headOfNodes = undefined;
  reached = undefined;
});
afterEach(async () => {
  await Promise.all(books.splice(0).map((book) => book.close()));
  await state.close();
  await rm(path, { recursive: true });
});

describe("a filter", () => {
  it.each([7_200_000, -7_200_000])(
    "does not end when the machine's clock is set by %i ms",
    async (byMs) => {
      const book = await open();
      const [polled, idle] = [await make(book), await make(book)];
      await clock.advance(MINUTE_MS);
      clock.setWallTime(byMs);
      expect(await isThere(book, polled)).toBe(true);
      await clock.advance(4 * MINUTE_MS);
      expect(await isThere(book, polled)).toBe(true);
      if (byMs > 0) {
        await clock.advance(2 * MINUTE_MS);
        await swept(1); // a filter that nobody polls ends five minutes later
        expect(await isThere(book, idle)).toBe(false);
      }
      expect(await isThere(book, polled)).toBe(true);
    },
  );

  it("is not swept when the machine's clock was set ahead before", async () => {
    const book = await open();
    const id = await make(book);
    clock.setWallTime(7_200_000);
    for (let minute = 0; minute < 4; minute += 1) await clock.advance(MINUTE_MS);
    expect(await isThere(book, id)).toBe(true);
  });

  it("ends five minutes after its last poll", async () => {
    const book = await open();
    const id = await make(book);
    await clock.advance(5 * MINUTE_MS);
    expect(await isThere(book, id)).toBe(true);
    await clock.advance(5 * MINUTE_MS);
    expect(await isThere(book, id)).toBe(true);
    await clock.advance(5 * MINUTE_MS + 1);
    await expect(book.changes(id, caller, () => undefined)).rejects.toMatchObject(NOT_FOUND);
    expect(await book.remove(id, caller)).toBe(false);
  });

  it("is swept from the state then, and is not counted any more", async () => {
    const book = await open();
    const ids = [await make(book), await make(book), await make(book)];
    await expect(make(book)).rejects.toMatchObject({ code: -32005 });
    await clock.advance(4 * MINUTE_MS);
    expect(await isThere(book, ids[0] ?? "")).toBe(true);
    await clock.advance(2 * MINUTE_MS);
    await swept(1);
    expect(await isThere(book, ids[0] ?? "")).toBe(true);
    expect(await isThere(book, await make(book))).toBe(true);
    await clock.advance(MINUTE_MS / 2);
    await swept(2);
    expect(counted).toEqual({ logs: 0, blocks: 2, heads: 0, pending: 0 });
  });

  it("outlives the gateway, and the time in which there was none", async () => {
    const book = await open();
    const id = await make(book);
    await book.close();
    await clock.advance(60 * MINUTE_MS);
    const again = await open();
    expect(await isThere(again, id)).toBe(true);
    await clock.advance(5 * MINUTE_MS + 1);
    expect(await isThere(again, id)).toBe(false);
  });

  it("stays for whoever polls it in vain while the chain is not followed", async () => {
    const book = await open();
    const id = await make(book);
    await book.close();
    const away = await open(false);
    for (let minute = 0; minute < 8; minute += 1) {
      await clock.advance(MINUTE_MS);
      await expect(away.changes(id, caller, () => undefined)).rejects.toMatchObject({
        status: 503,
      });
    }
  });

  it("counts against its key after a restart too", async () => {
    const book = await open();
    for (let count = 0; count < 3; count += 1) await make(book);
    await book.close();
    await expect(make(await open())).rejects.toMatchObject({ code: -32005 });
  });

  it("of very many addresses counts as several", async () => {
    const book = await open();
    const many = (count: number) =>
      book.begin(
        { kind: "logs", criteria: { address: Array(count).fill(`0x${"1".repeat(40)}`) } },
        caller,
      );
    await expect(many(301)).rejects.toMatchObject({ code: -32005 });
    const { id } = await many(200);
    await make(book);
    await expect(make(book)).rejects.toMatchObject({ code: -32005 });
    expect(await book.remove(id, caller)).toBe(true);
    await make(book);
    await make(book);
  });

  it("that could not be made does not count", async () => {
    const book = await open(false);
    for (let count = 0; count < 5; count += 1)
      await expect(make(book)).rejects.toMatchObject({ status: 503 });
    expect(await state.list("filter main ")).toEqual([]);
  });

  it("begins at the nodes' head before the chain is followed", async () => {
    headOfNodes = head;
    const id = await make(await open(false));
    const book = await open();
    expect((await book.changes(id, caller, () => undefined)).items).toEqual([]);
  });

  it.each([
    { why: "the nodes' head", where: "the store has it", at: head.hash, told: head.hash },
    {
      why: "the store's head",
      where: "it was dropped before the chain was there",
      at: `0x${"b".repeat(64)}`,
      told: head.hash,
    },
  ])("waits for the chain, and begins at $why where $where", async ({ at, told }) => {
    headOfNodes = { number: head.number, hash: at };
    reached = view;
    await make(await open(false));
    const [entry] = await state.list("filter main ");
    expect(JSON.parse(entry?.text ?? "")).toMatchObject({ told: { number: 7, hash: told } });
  });

  it("stays while the chain is not followed yet", async () => {
    const id = await make(await open());
    const book = await open(false);
    await expect(book.changes(id, caller, () => undefined)).rejects.toMatchObject({ status: 503 });
    expect(await state.list("filter main ")).toHaveLength(1);
  });
});
