import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { day, okCall } from "../../../test/support/counted-calls.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { DAY_MS, HOUR_MS } from "../../lib/calendar.ts";
import { keepRemovingOldUsage, prefixesBefore, UsageBook } from "./usage-book.ts";
import { readUsage, readUsageHours } from "./usage-report.ts";

const log = pino({ level: "silent" });
const clock = new FakeClock();
let state: MemoryState;
let books: UsageBook[];

const bookOf = (member = "a-0"): UsageBook => {
  const book = new UsageBook({ member, keptDays: 400 }, { state, clock, log });
  books.push(book);
  return book;
};
const today = () => ({ from: day(clock), to: day(clock) });
const totalCalls = async (): Promise<number> =>
  (await readUsage(state, today(), { clock })).reduce((sum, { calls }) => sum + calls, 0);

beforeEach(() => {
  state = new MemoryState();
  books = [];
});
afterEach(() => Promise.all(books.map((book) => book.close())));

describe("the usage book", () => {
  it("writes what was counted twice a second, and nothing while nothing changes", async () => {
    const book = bookOf();
    book.start();
    book.of("app").record(okCall);
    await clock.advance(499);
    expect(await totalCalls()).toBe(0);
    await clock.advance(1);
    expect(await totalCalls()).toBe(1);
    const { changes } = state;
    await clock.advance(500);
    expect(state.changes).toBe(changes);
  });

  it("counts each of a call's figures under its key, network and method", async () => {
    const book = bookOf();
    const usage = book.of("app");
    usage.record({ ...okCall, computeUnits: 10, saved: "store" });
    usage.record({ ...okCall, outcome: "error", computeUnits: 5 });
    usage.record({ ...okCall, outcome: "refused", computeUnits: 7, refusedBy: "day" });
    usage.record({ ...okCall, saved: "merging", method: "eth_getLogs", network: "bsc" });
    await book.write();
    expect(await readUsage(state, today(), { clock })).toEqual([
      expect.objectContaining({ key: "app", network: "bsc", calls: 1, savedByMerging: 1 }),
      {
        day: day(clock),
        key: "app",
        network: "eth",
        method: "eth_call",
        calls: 2,
        computeUnits: 22,
        bytes: 300,
        requestBytes: 120,
        errors: 1,
        refused: 1,
        savedByStore: 1,
        savedByMerging: 0,
        savedHere: 0,
        savedComputeUnits: 10,
        upstreamCalls: 3,
        refusedMethods: 0,
        refusedWrites: 0,
        refusedContracts: 0,
        refusedRate: 0,
        refusedQuota: 1,
        refusedConcurrent: 0,
        refusedNetworks: 0,
        refusedOrigins: 0,
        refusedAddresses: 0,
        refusedBatches: 0,
        refusedWebSockets: 0,
        refusedAgain: 0,
      },
    ]);
  });

  it("counts requests that were refused before a call was read, by what a key or its callers are bound to", async () => {
    const usage = bookOf().of("app");
    for (const rule of ["origins", "origins", "messages", "webSockets", "guesses", undefined])
      usage.recordRefusal("eth", rule);
    await Promise.all(books.map((book) => book.write()));
    expect(await readUsage(state, today(), { clock })).toMatchObject([
      {
        ...{ network: "eth", method: "other", calls: 0, computeUnits: 0, refused: 4 },
        ...{ refusedOrigins: 2, refusedWebSockets: 2, refusedAddresses: 0 },
      },
    ]);
  });

  it("goes on where it was after a restart, and adds up what several members wrote", async () => {
    for (const member of ["a-0", "a-1", "a-0", "a-0"]) {
      const book = bookOf(member);
      book.of("app").record(okCall);
      await book.close();
    }
    expect((await state.list("usage ")).map(({ key }) => key)).toEqual([
      `usage ${day(clock)} app a-0`,
      `usage ${day(clock)} app a-1`,
      `usage hours ${day(clock)} app a-0`,
      `usage hours ${day(clock)} app a-1`,
    ]);
    expect(await totalCalls()).toBe(4);
  });

  it("keeps counting while the state is away, days apart, and writes it when it is back", async () => {
    const book = bookOf();
    book.start();
    const first = day(clock);
    state.isAway = true;
    book.of("app").record(okCall);
    await clock.advance(86_400_000);
    book.of("app").record(okCall);
    book.of("app").record(okCall);
    await clock.advance(500);
    state.isAway = false;
    await clock.advance(500);
    const rows = await readUsage(state, { from: first, to: day(clock) }, { clock });
    expect(rows.map(({ day: on, calls }) => [on, calls])).toEqual([
      [first, 1],
      [day(clock), 2],
    ]);
  });

  const rowsOf = async (book: UsageBook): Promise<unknown[]> => {
    const rows = [];
    for await (const some of book.of("app").rows(today())) rows.push(...some);
    return rows;
  };

  it("is read by one reader of a key at a time, who may leave early", async () => {
    const book = bookOf();
    book.of("app").record(okCall);
    const first = book.of("app").rows(today());
    expect((await first.next()).value).toHaveLength(1);
    let isRead = false;
    const second = rowsOf(book).then(() => {
      isRead = true;
    });
    await book.write();
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(isRead).toBe(false);
    await first.return();
    await second;
  });

  it("tells a key's holder what was counted until now, and of no other key", async () => {
    const book = bookOf();
    book.of("app").record(okCall);
    book.of("app.2").record(okCall);
    expect(await rowsOf(book)).toEqual([expect.objectContaining({ key: "app", calls: 1 })]);
    state.isAway = true;
    await expect(rowsOf(book)).rejects.toThrow("away");
    state.isAway = false;
  });

  describe("by hour", () => {
    /** Sets the clock to the next beginning of a day. */
    const midnight = () =>
      clock.advance(Math.ceil(clock.wallTime() / DAY_MS) * DAY_MS - clock.wallTime());
    /** The calls of each hour, with refused calls counted tenfold. */
    const told = async () => {
      const hours = await readUsageHours(state, { key: "app", nowMs: clock.wallTime() });
      expect(hours).toHaveLength(48);
      expect(hours.at(-1)?.at.slice(0, 10)).toBe(day(clock));
      return hours.map(({ calls, refused }) => calls + 10 * refused);
    };

    it("tells of 48 what all members counted of all networks, and of no other key", async () => {
      await midnight();
      await clock.advance(22 * HOUR_MS);
      const [book, other] = [bookOf(), bookOf("a-1")];
      book.of("app").record(okCall);
      book.of("app").record({ ...okCall, method: "eth_getLogs", network: "bsc" });
      book.of("app.2").record(okCall);
      await clock.advance(HOUR_MS);
      book.of("app").record({ ...okCall, outcome: "refused" });
      other.of("app").record(okCall);
      await clock.advance(HOUR_MS);
      book.of("app").record(okCall);
      await Promise.all([book.write(), other.write()]);
      expect((await told()).slice(-4)).toEqual([0, 2, 11, 1]);
      await clock.advance(46 * HOUR_MS);
      expect((await told()).slice(0, 4)).toEqual([11, 1, 0, 0]);
    });

    it("counts a call in the hour it came in, after an outage of the state and a restart too", async () => {
      await midnight();
      const book = bookOf();
      state.isAway = true;
      for (let calls = 1; calls <= 3; calls += 1) {
        for (let call = 0; call < calls; call += 1) book.of("app").record(okCall);
        await expect(book.write()).rejects.toThrow("away");
        await clock.advance(HOUR_MS);
      }
      state.isAway = false;
      await book.close();
      const next = bookOf();
      next.of("app").record(okCall);
      await next.close();
      expect((await told()).slice(-5)).toEqual([0, 1, 2, 3, 1]);
    });

    it("writes a key's hours every ten seconds, also when no more calls come", async () => {
      await midnight();
      const book = bookOf();
      for (const { afterMs, calls, want } of [
        { afterMs: 0, calls: 1, want: 1 },
        { afterMs: 9999, calls: 2, want: 1 },
        { afterMs: 1, calls: 0, want: 3 },
      ]) {
        await clock.advance(afterMs);
        for (let call = 0; call < calls; call += 1) book.of("app").record(okCall);
        await book.write();
        expect((await told()).at(-1)).toBe(want);
      }
    });

    it("removes days that no longer are of the last 48 hours", async () => {
      await midnight();
      const book = bookOf();
      book.start();
      const days = async () => {
        await clock.advance(60_000);
        return (await state.list("usage hours ")).length;
      };
      book.of("app").record(okCall);
      expect(await days()).toBe(1);
      await clock.advance(2 * DAY_MS);
      book.of("app").record(okCall);
      expect(await days()).toBe(2);
      await clock.advance(DAY_MS);
      await expect.poll(days).toBe(1);
      await book.close();
    });
  });

  it("removes what is older than it keeps, day by day", async () => {
    const entries = ["2025-01-30", "2025-01-31", "2025-02-01"].map(
      (each) => `usage ${each} app a-0`,
    );
    for (const key of entries) await state.update([key], () => ["{}"]);
    await clock.advance(Date.UTC(2026, 2, 6) - clock.wallTime()); // the 400th day, counted from 2025-01-31
    bookOf().start();
    const kept = async () => {
      await clock.advance(60_000);
      return (await state.list("usage ")).map(({ key }) => key);
    };
    await expect.poll(kept).toEqual(entries.slice(1));
    await clock.advance(86_400_000);
    await expect.poll(kept).toEqual(entries.slice(2));
  });
});

it("finds all days before one, and none after, in few lists", () => {
  const prefixes = prefixesBefore("2026-03-03");
  expect(prefixes).toEqual(["2025-", "2026-01-", "2026-02-", "2026-03-01", "2026-03-02"]);
  expect(prefixesBefore("2025-01-01")).toEqual([]);
});

it("removes more within a minute when fewer days are to be kept", async () => {
  const ownClock = new FakeClock();
  await ownClock.advance(Date.parse("2026-03-10T12:00:00Z"));
  const ownState = new MemoryState();
  const nowMs = ownClock.wallTime();
  for (const back of [0, 1, 2, 3])
    await ownState.update(
      [`usage ${day({ wallTime: () => nowMs - back * DAY_MS })} web a-0`],
      () => ["x"],
    );
  let keptDays = 3;
  const ending = new AbortController();
  const { signal } = ending;
  const removing = keepRemovingOldUsage(
    { keptDays: () => keptDays, signal },
    { state: ownState, clock: ownClock },
  );
  const keptAfterAMinute = async (): Promise<string[]> => {
    await ownClock.advance(60_000);
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    return (await ownState.list("usage ")).map(({ key }) =>
      key.slice("usage ".length, -" web a-0".length),
    );
  };
  expect(await keptAfterAMinute()).toEqual(["2026-03-08", "2026-03-09", "2026-03-10"]);
  keptDays = 1;
  expect(await keptAfterAMinute()).toEqual(["2026-03-10"]);
  ending.abort();
  await removing;
});
