import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ADDRESS, hashTerm } from "../evm/log-filter.ts";
import { Backfill } from "./backfill.ts";
import type { BlockRecord } from "./block-record.ts";
import type { Found } from "./block-source.ts";
import { BlockStore } from "./block-store.ts";
import { numberKey } from "./block-tables.ts";
import type { Reference } from "./dialect.ts";
import { SEGMENT_BLOCKS, segmentOf } from "./log-index.ts";

/** The window lies on both sides of the start of a segment of the index. */
const HEAD = SEGMENT_BLOCKS + 150;
const WINDOW = 301;
const TAIL = HEAD - WINDOW + 1;

const hashOf = (name: string): string => `0x${createHash("sha256").update(name).digest("hex")}`;
const addressOf = (number: number): string => hashOf(`address ${number}`).slice(0, 42);

function block(number: number, parent = number - 1): BlockRecord {
  const transactions = [{ hash: hashOf(`of ${number}`) }];
  const parsed = {
    ...{ number: `0x${number.toString(16)}`, hash: hashOf(`${number}`), transactions },
    parentHash: hashOf(`${parent}`),
  };
  const receipts = [{ logs: [{ address: addressOf(number), topics: [], removed: false }] }];
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const record = recordOf(
    { block: json(parsed), receipts: json(receipts) },
    { block: parsed, receipts },
    "full",
  );
  if (!record) throw new Error("this is not a block");
  return record;
}

let path: string;
let store: BlockStore;
let backfill: Backfill | undefined;
let clock: FakeClock;
const openStore = async (windowBlocks = WINDOW): Promise<void> => {
  store = new BlockStore({ path, windowBlocks, bytes: 2 ** 40 });
  await store.prepareFor(1);
};
beforeEach(async () => {
  clock = new FakeClock();
  path = mkdtempSync(join(tmpdir(), "headgate-store-"));
  await openStore();
  await store.startAt(block(HEAD));
});
afterEach(async () => {
  await backfill?.close();
  backfill = undefined;
  await store.close();
  rmSync(path, { recursive: true });
});

/** Runs a backfill of the window; `fetch` gives a block, or undefined. */
function fill(
  fetch: (number: number, signal: AbortSignal) => Promise<BlockRecord | undefined>,
): void {
  const source = {
    fetch: async (reference: Reference, _nodes: unknown, signal: AbortSignal): Promise<Found> => {
      const record = await fetch("number" in reference ? reference.number : -1, signal);
      return record ? { kind: "found", record } : { kind: "unknown" };
    },
  };
  const nothing = { windowFilled: () => undefined };
  backfill = new Backfill(
    { network: "test" },
    { store, source, nodes: () => [], clock, log: pino({ level: "silent" }), metrics: nothing },
  );
  backfill.start();
}
/** Lets time pass until the condition holds. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await clock.toNext();
    await new Promise(setImmediate);
    store.tables.refresh();
  }
}
const isFound = (number: number): boolean => {
  const term = hashTerm(addressOf(number), ADDRESS);
  return (
    store.tables.blockAt(number)?.hash === hashOf(`${number}`) &&
    store.tables.transactionPosition(hashOf(`of ${number}`))?.number === number &&
    store.tables.postings(segmentOf(number), term)?.readUInt16LE(0) === number % SEGMENT_BLOCKS
  );
};
const missing = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index).filter((n) => !isFound(n));

it("fills the window, with what each block is found by", async () => {
  fill(async (number) => block(number));
  await until(() => store.tables.tail === TAIL);
  expect(missing(TAIL, HEAD - 1)).toEqual([]);
  expect(store.tables.hashAt(TAIL - 1)).toBeUndefined();
});

it("asks for a few blocks at a time, and never for one again that it has", async () => {
  const asked: number[] = [];
  let running = 0;
  let most = 0;
  fill(async (number) => {
    asked.push(number);
    running += 1;
    most = Math.max(most, running);
    await clock.yield();
    running -= 1;
    return block(number);
  });
  await until(() => store.tables.tail === TAIL);
  expect(most).toBe(4);
  expect(new Set(asked).size).toBe(asked.length);
});

it("asks for others while one is awaited, but not for many that are large", async () => {
  const asked: number[] = [];
  const late = new Map([HEAD - 33, HEAD - 65].map((each) => [each, Promise.withResolvers<void>()]));
  fill(async (number) => {
    asked.push(number);
    await late.get(number)?.promise;
    const record = block(number);
    const { outline } = record;
    const transactionBytes = number < HEAD - 64 ? 2 ** 30 : outline.transactionBytes;
    return { ...record, outline: { ...outline, transactionBytes } };
  });
  const askedWhileLate = async (least: number): Promise<number> => {
    await until(() => asked.length >= least);
    for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate);
    return asked.length;
  };
  expect(await askedWhileLate(32 + 17)).toBe(32 + 17); // 16 blocks ahead, and the block that is awaited
  late.get(HEAD - 33)?.resolve();
  expect(await askedWhileLate(64 + 5)).toBe(64 + 5);
  late.get(HEAD - 65)?.resolve();
  await until(() => store.tables.tail === TAIL);
  expect(missing(TAIL, HEAD - 1)).toEqual([]);
});

it("stops at a block that is not to be had, and asks for it again later", async () => {
  const gap = HEAD - 30;
  let isThere = false;
  fill(async (number) => (number === gap && !isThere ? undefined : block(number)));
  await until(() => store.tables.tail === gap + 1);
  expect(missing(gap + 1, HEAD - 1)).toEqual([]);
  isThere = true;
  await until(() => store.tables.tail === TAIL);
  expect(missing(TAIL, HEAD - 1)).toEqual([]);
});

it("steps over heights that have no block, also the lowest ones", async () => {
  const isThere = (number: number): boolean => number % 5 !== 0 && number !== HEAD - 31;
  const below = (number: number): number => (isThere(number) ? number : below(number - 1));
  await store.startAt(block(HEAD + 1, HEAD));
  const lowest = TAIL + 1;
  fill(async (number) =>
    isThere(number) && number > lowest ? block(number, below(number - 1)) : undefined,
  );
  await until(() => store.tables.tail === lowest + 1);
  const numbers = Array.from({ length: HEAD - lowest }, (_, index) => lowest + 1 + index);
  for (const number of numbers)
    expect(store.tables.hashAt(number)).toBe(isThere(number) ? hashOf(`${number}`) : undefined);
});

it("moves the tail every two seconds where blocks come slowly", async () => {
  fill(async (number, signal) => {
    await clock.sleep(300, signal).catch(() => undefined); // time stands still while the backfill ends
    return block(number);
  });
  await until(() => (store.tables.tail ?? 0) < HEAD);
  expect(clock.now()).toBeLessThan(5_000);
  expect(store.tables.tail).toBeGreaterThan(HEAD - 60);
});

it("moves the tail soon for the first blocks: a reorganisation reaches them", async () => {
  const tails = new Set<number | undefined>();
  fill(async (number) => {
    tails.add(store.tables.tail);
    return block(number);
  });
  await until(() => (store.tables.tail ?? HEAD) <= HEAD - 128);
  expect([...tails].slice(0, 4)).toEqual([HEAD, HEAD - 4, HEAD - 8, HEAD - 16]);
});

it("writes sixteen blocks together, and fewer where they are large or come slowly", async () => {
  const written: number[] = [];
  const { add } = store.below;
  store.below.add = (records) => {
    written.push(records.length);
    return add.call(store.below, records);
  };
  const megabyte = (record: BlockRecord): BlockRecord => ({
    ...record,
    outline: { ...record.outline, transactionBytes: 2 ** 20 },
  });
  fill(async (number, signal) => {
    if (number < HEAD - 256) await clock.sleep(10_000, signal).catch(() => undefined);
    return number < HEAD - 128 ? megabyte(block(number)) : block(number);
  });
  await until(() => written.length > 26);
  expect(written.slice(0, 10)).toEqual([4, 4, 8, 16, 16, 16, 16, 16, 16, 16]);
  expect(written.slice(10, 27)).toEqual([...new Array(16).fill(8), 1]);
});

it("keeps what it has when it is closed", async () => {
  let waiting = 0;
  fill(async (number, signal) => {
    if (number > HEAD - 40) return block(number);
    waiting += 1;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return undefined;
  });
  await until(() => store.tables.tail === HEAD - 32 && waiting === 4);
  await backfill?.close();
  expect(store.tables.tail).toBe(HEAD - 39);
  expect(missing(HEAD - 39, HEAD - 1)).toEqual([]);
});

it("leaves nothing of what a process that was killed had not finished", async () => {
  await store.below.add([block(HEAD - 1), block(HEAD - 2)]);
  await store.keep(block(HEAD - 5), true);
  await store.close();
  await openStore();
  expect(store.tables.tail).toBe(HEAD);
  expect(store.tables.outline(hashOf(`${HEAD - 1}`))).toBeUndefined();
  expect(store.tables.transactionPosition(hashOf(`of ${HEAD - 2}`))).toBeUndefined();
  expect(store.tables.hashAt(HEAD - 5)).toBe(hashOf(`${HEAD - 5}`));
});

it("finds the logs of what it adds though the head moves meanwhile", async () => {
  const numbers = Array.from({ length: 200 }, (_, index) => HEAD - 1 - index);
  await store.below.add(numbers.map((number) => block(number)));
  const finished = store.below.finish();
  for (let number = HEAD + 1; number < HEAD + 6; number += 1)
    await store.apply({ removed: 0, added: [block(number)] });
  expect(await finished).toBe(200);
  expect(missing(HEAD - 200, HEAD + 5)).toEqual([]);
});

it("adds no more than what stands below the tail, where the store has lost some meanwhile", async () => {
  const numbers = Array.from({ length: 20 }, (_, index) => HEAD - 1 - index);
  await store.below.add(numbers.map((number) => block(number)));
  await store.tables.root.transaction(() => {
    store.tables.canonical.removeSync(numberKey(HEAD - 8));
  });
  expect(await store.below.finish()).toBe(7);
  expect([store.tables.tail, missing(HEAD - 7, HEAD)]).toEqual([HEAD - 7, []]);
  expect(store.tables.outline(hashOf(`${HEAD - 9}`))).toBeUndefined();
});

it("gives up what was below the tail of a chain that is begun anew", async () => {
  await store.below.add([block(HEAD - 1), block(HEAD - 2)]);
  await store.startAt(block(HEAD - 1));
  expect(await store.below.add([block(HEAD - 3)])).toBe(false);
  expect([store.tables.tail, store.tables.outline(hashOf(`${HEAD - 1}`))?.number]).toEqual([
    HEAD - 1,
    HEAD - 1,
  ]);
  expect(await store.below.add([block(HEAD - 2)])).toBe(true);
});
