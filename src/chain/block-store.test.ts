import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { ADDRESS, hashTerm } from "../evm/log-filter.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore, type StoreOptions } from "./block-store.ts";
import { BlockTables } from "./block-tables.ts";
import { SEGMENT_BLOCKS } from "./log-index.ts";
import { StoredBlock } from "./stored-block.ts";

const PLENTY = 2 ** 30;
/** Room for some ten large blocks. */
const TIGHT = 400_000;

let folder: string;
let store: BlockStore;
let tables: BlockTables;
const openStore = (options: Partial<StoreOptions> = {}) => {
  store = new BlockStore({ path: folder, windowBlocks: 100, bytes: PLENTY, ...options });
  ({ tables } = store);
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-store-"));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const hashOf = (name: string): string => `0x${createHash("sha256").update(name).digest("hex")}`;
/** Hex digits that do not compress well. */
const noise = (name: string, bytes: number): string =>
  createHash("shake256", { outputLength: bytes }).update(name).digest("hex");

type Content = {
  /** The name of the parent. */
  readonly on?: string;
  readonly transactions?: readonly string[];
  readonly inputBytes?: number;
};
const LARGE = { inputBytes: 16_000 };

/** A block that is named by its branch and number, like "a7", with a log of an address of its own. */
function block(name: string, content: Content = {}): BlockRecord {
  const number = Number(name.slice(1));
  const { on = `${name[0]}${number - 1}`, transactions = [`of ${name}`], inputBytes = 4 } = content;
  const input = `0x${noise(name, inputBytes)}`;
  const parsed = {
    number: `0x${number.toString(16)}`,
    hash: hashOf(name),
    parentHash: hashOf(on),
    transactions: transactions.map((each) => ({ hash: hashOf(each), input })),
  };
  const logs = [{ address: addressOf(name), topics: [], removed: false }];
  const receipts = transactions.map((each) => ({ transactionHash: hashOf(each), logs }));
  const json = { block: jsonOf(parsed), receipts: jsonOf(receipts) };
  const record = recordOf(json, { block: parsed, receipts }, "full");
  if (!record) throw new Error(`${name} is no block`);
  return record;
}
const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const addressOf = (name: string): string => hashOf(`address ${name}`).slice(0, 42);

/** Adds one block after the other. */
const grow = async (...records: readonly BlockRecord[]) => {
  for (const record of records) await store.apply({ removed: 0, added: [record] });
};
/** Adds blocks below the tail, newest first. */
const prepend = async (records: readonly BlockRecord[]): Promise<boolean> =>
  (await store.below.add(records)) && (await store.below.finish()) === records.length;
const stored = (name: string): StoredBlock | undefined => {
  const outline = tables.outline(hashOf(name));
  return outline && new StoredBlock({ hash: hashOf(name), outline }, { store: tables });
};
const isReadable = (name: string): boolean => stored(name) !== undefined;
/** The names whose blocks are canonical at their numbers. */
const canonical = (...names: readonly string[]): string[] =>
  names.filter((name) => tables.hashAt(Number(name.slice(1))) === hashOf(name));
const positionOf = (transaction: string) => tables.transactionPosition(hashOf(transaction));
const postings = (name: string) => {
  const term = hashTerm(addressOf(name), ADDRESS);
  return tables.postings(Math.floor(Number(name.slice(1)) / SEGMENT_BLOCKS), term);
};
const headAt = (name: string) => ({ number: Number(name.slice(1)), hash: hashOf(name) });

/** The block without its receipts, as a node gives it that has removed them. */
function bare(name: string): BlockRecord {
  const { outline, ...record } = block(name);
  const none = { hasReceipts: false, receiptBytes: 0, receiptPieces: new Uint32Array(0) };
  const logs = Buffer.alloc(0);
  return { ...record, outline: { ...outline, ...none }, receiptPieces: [], logs };
}

describe("a block that is stored without its receipts", () => {
  const receiptsOf = (name: string) => stored(name)?.receipts()?.toString();
  /** The answers about a block that was stored whole. */
  const wanted = async (name: string): Promise<string | undefined> => {
    await store.keep(block(name), false);
    return receiptsOf(name);
  };

  it.each([
    { how: "fetched again", add: () => store.keep(block("a4"), true) },
    { how: "filled in below the tail", add: () => prepend([block("a4")]) },
    { how: "the next head", add: () => store.apply({ removed: 1, added: [block("a4")] }) },
  ])("gets them when it is $how, and keeps its other parts", async ({ how, add }) => {
    openStore();
    const whole = await wanted("a4");
    await store.clear();
    const base = how === "the next head" ? ["a3", "b4"] : ["a5"];
    await grow(...base.map((name) => block(name, name === "b4" ? { on: "a3" } : {})));
    await store.keep(bare("a4"), false);
    expect([stored("a4")?.hasReceipts, receiptsOf("a4")]).toEqual([false, undefined]);
    const before = stored("a4")?.withTransactions().toString();
    await add();
    expect(stored("a4")?.withTransactions().toString()).toBe(before);
    expect(receiptsOf("a4")).toBe(whole);
    expect(canonical("a4")).toEqual(["a4"]);
  });

  it("does not replace a whole one", async () => {
    openStore();
    await grow(block("a5"));
    await store.keep(block("a4"), true);
    const before = receiptsOf("a4");
    await store.keep(bare("a4"), true);
    expect([stored("a4")?.hasReceipts, receiptsOf("a4")]).toEqual([true, before]);
  });

  it("leaves the store whole", async () => {
    openStore();
    await grow(block("a5"));
    await store.keep(bare("a4"), true);
    await store.keep(block("a4"), true);
    expect([...tables.kept.getRange({})]).toHaveLength(1);
  });
});

it("a store of format 3 is used as it is", async () => {
  openStore();
  await store.prepareFor(1);
  await grow(block("a1"));
  await store.setNote("made for", "3 1");
  expect(await store.prepareFor(1)).toEqual({ wasCleared: false });
  expect([tables.note("made for"), isReadable("a1")]).toEqual(["4 1", true]);
  await store.setNote("made for", "2 1");
  expect(await store.prepareFor(1)).toEqual({ wasCleared: true });
});

it("is empty at first", () => {
  openStore();
  expect([tables.head, tables.tail, tables.hashAt(1), positionOf("of a1")]).toEqual(
    Array(4).fill(undefined),
  );
});

it("finds a block by its hash and its number, and its transactions by theirs", async () => {
  openStore();
  const record = block("a7", { transactions: ["first", "second"] });
  await grow(record);
  expect([tables.head, tables.tail]).toEqual([headAt("a7"), 7]);
  expect(tables.hashAt(7)).toBe(hashOf("a7"));
  expect(tables.hashBytesAt(7)?.toString("hex")).toBe(hashOf("a7").slice(2));
  expect(tables.outline(hashOf("a7"))).toEqual(record.outline);
  expect(tables.part(hashOf("a7"), "block")).toEqual(record.block);
  expect([positionOf("first"), positionOf("second")]).toEqual([
    { number: 7, index: 0 },
    { number: 7, index: 1 },
  ]);
  expect(postings("a7")?.readUInt16LE(0)).toBe(7);
  expect([tables.hashAt(8), tables.outline(hashOf("a8")), positionOf("third")]).toEqual(
    Array(3).fill(undefined),
  );
});

it("lets the oldest block leave with the one that is too many for the window", async () => {
  openStore({ windowBlocks: 3 });
  await grow(block("a1"), block("a2"), block("a3"));
  expect([tables.tail, canonical("a1", "a2", "a3")]).toEqual([1, ["a1", "a2", "a3"]]);
  await grow(block("a4"));
  expect([tables.head, tables.tail]).toEqual([headAt("a4"), 2]);
  expect(canonical("a1", "a2", "a3", "a4")).toEqual(["a2", "a3", "a4"]);
  expect([isReadable("a1"), isReadable("a2")]).toEqual([false, true]);
  expect([positionOf("of a1"), positionOf("of a2")]).toEqual([undefined, { number: 2, index: 0 }]);
  for (const part of ["block", "transactions", "receipts", "logs"] as const)
    expect(tables.part(hashOf("a1"), part)).toBeUndefined();
});

it("forgets the log terms of a segment when its last block leaves the window", async () => {
  openStore({ windowBlocks: 2 });
  const last = `a${SEGMENT_BLOCKS - 1}`;
  const first = `a${SEGMENT_BLOCKS}`;
  const second = `a${SEGMENT_BLOCKS + 1}`;
  await grow(block(last), block(first));
  expect(postings(last)).toBeDefined();
  await grow(block(second));
  expect(postings(last)).toBeUndefined();
  expect(postings(first)).toBeDefined();
});

it("never grows beyond its bytes: the oldest leave, and the tail rises", async () => {
  openStore({ bytes: TIGHT });
  const names = Array.from({ length: 20 }, (_, index) => `a${index + 1}`);
  for (const name of names) {
    await grow(block(name, LARGE));
    expect(tables.head).toEqual(headAt(name));
    expect(tables.bytes).toBeLessThanOrEqual(TIGHT);
  }
  const tail = tables.tail ?? 0;
  expect(tail).toBeGreaterThan(5);
  expect(tail).toBeLessThan(20);
  const present = names.slice(tail - 1);
  expect(canonical(...names)).toEqual(present);
  expect(names.filter(isReadable)).toEqual(present);
  expect(names.filter((name) => positionOf(`of ${name}`))).toEqual(present);
});

it("keeps the head even where there is no room for it", async () => {
  openStore({ bytes: 1 });
  await grow(block("a1", LARGE), block("a2", LARGE), block("a3", LARGE));
  expect([tables.head, tables.tail]).toEqual([headAt("a3"), 3]);
  expect(["a1", "a2", "a3"].filter(isReadable)).toEqual(["a3"]);
  expect(positionOf("of a3")).toEqual({ number: 3, index: 0 });
});

describe("a reorganisation", () => {
  const b2 = block("b2", { on: "a1", transactions: ["fresh", "later"] });
  const b3 = block("b3", { transactions: ["moved"] });
  beforeEach(async () => {
    openStore({ windowBlocks: 3 });
    await grow(
      block("a1"),
      block("a2", { transactions: ["moved", "lost"] }),
      block("a3", { transactions: ["later"] }),
    );
    await store.apply({ removed: 2, added: [b2, b3] });
  });

  it("puts the new blocks in the place of the dropped ones", () => {
    expect([tables.head, tables.tail]).toEqual([headAt("b3"), 1]);
    expect(canonical("a1", "a2", "a3", "b2", "b3")).toEqual(["a1", "b2", "b3"]);
    expect([postings("b2"), postings("b3")].map((each) => each?.length)).toEqual([2, 2]);
  });

  it("leaves the dropped blocks readable by their hashes", () => {
    const dropped = stored("a2");
    expect(JSON.parse(String(dropped?.withTransactions()))).toMatchObject({ hash: hashOf("a2") });
    expect(JSON.parse(String(dropped?.transaction(1)))).toMatchObject({ hash: hashOf("lost") });
    expect(JSON.parse(String(dropped?.receipts()))).toHaveLength(2);
  });

  it("finds transactions where the new chain has them, and the lost ones nowhere", () => {
    expect(["moved", "later", "fresh", "lost"].map(positionOf)).toEqual([
      { number: 3, index: 0 },
      { number: 2, index: 1 },
      { number: 2, index: 0 },
      undefined,
    ]);
  });

  it("can be undone", async () => {
    await store.apply({ removed: 1, added: [] });
    expect([tables.head, tables.hashAt(3), positionOf("moved")]).toEqual([
      headAt("b2"),
      undefined,
      undefined,
    ]);
    const back = [block("a2", { transactions: ["moved", "lost"] }), block("a3")];
    await store.apply({ removed: 1, added: back });
    expect(canonical("a1", "a2", "a3", "b2", "b3")).toEqual(["a1", "a2", "a3"]);
    expect(positionOf("lost")).toEqual({ number: 2, index: 1 });
    expect(isReadable("b2")).toBe(true);
  });

  it("is forgotten when its numbers leave the window", async () => {
    await grow(block("b4"), block("b5"));
    expect(["a2", "a3", "b2", "b3"].filter(isReadable)).toEqual(["a3", "b3"]);
    await grow(block("b6"));
    expect(["a3", "b3", "b4"].filter(isReadable)).toEqual(["b4"]);
  });
});

describe("a block older than the window", () => {
  beforeEach(async () => {
    openStore({ windowBlocks: 2, bytes: TIGHT });
    await grow(block("a101"), block("a102"));
  });
  const window = () => [tables.head, tables.tail, canonical("a101", "a102")];
  const unchanged = [headAt("a102"), 101, ["a101", "a102"]];

  it("is kept with its number and its transactions when it was asked for by its number", async () => {
    const record = block("a5", LARGE);
    await store.keep(record, true);
    expect([tables.hashAt(5), positionOf("of a5")]).toEqual([
      hashOf("a5"),
      { number: 5, index: 0 },
    ]);
    expect(tables.outline(hashOf("a5"))).toEqual(record.outline);
    expect(tables.part(hashOf("a5"), "block")).toEqual(record.block);
    expect(tables.part(hashOf("a5"), "transactions")).toEqual(record.transactionPieces[0]);
    expect(window()).toEqual(unchanged);
  });

  it("is kept under its hash only when it was asked for by its hash", async () => {
    await store.keep(block("a5"), false);
    expect(isReadable("a5")).toBe(true);
    expect([tables.hashAt(5), positionOf("of a5")]).toEqual([undefined, undefined]);
  });

  it("stays while the window moves on", async () => {
    await store.keep(block("a5"), true);
    await grow(block("a103"), block("a104"));
    expect(canonical("a5", "a101", "a102", "a103", "a104")).toEqual(["a5", "a103", "a104"]);
  });

  it("leaves when there is no room any more, the first to come before the others", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `a${30 - index}`);
    for (const name of names) {
      await store.keep(block(name, LARGE), true);
      expect(isReadable(name)).toBe(true);
      expect(tables.bytes).toBeLessThanOrEqual(TIGHT);
    }
    const left = names.filter(isReadable);
    expect(left.length).toBeGreaterThan(5);
    expect(left.length).toBeLessThan(30);
    expect(left).toEqual(names.slice(-left.length));
    expect(canonical(...names)).toEqual(left);
    expect(names.filter((name) => positionOf(`of ${name}`))).toEqual(left);
    expect(window()).toEqual(unchanged);
  });

  it("leaves before any block of the window does", async () => {
    const names = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];
    for (const name of names) await store.keep(block(name, LARGE), true);
    expect(names.filter(isReadable)).toEqual(names);
    await grow(block("a103", { inputBytes: 130_000 }));
    expect(names.filter(isReadable)).not.toContain("a1");
    expect([tables.tail, canonical("a102", "a103")]).toEqual([102, ["a102", "a103"]]);
  });
});

describe("blocks below the tail", () => {
  beforeEach(async () => {
    openStore();
    await grow(block("a10"), block("a11"));
  });

  it("are added newest first, with all that they are found by", async () => {
    expect(await prepend([block("a9"), block("a8")])).toBe(true);
    expect(await prepend([block("a7")])).toBe(true);
    expect([tables.head, tables.tail]).toEqual([headAt("a11"), 7]);
    expect(canonical("a7", "a8", "a9", "a10", "a11")).toHaveLength(5);
    expect([positionOf("of a8"), postings("a8")?.readUInt16LE(0)]).toEqual([
      { number: 8, index: 0 },
      8,
    ]);
  });

  it.each([
    { what: "of another branch", names: ["b9"] },
    { what: "with a gap to the tail", names: ["a8"] },
    { what: "of which the second is not the parent of the first", names: ["a9", "b8"] },
    { what: "oldest first", names: ["a8", "a9"] },
    { what: "that are none", names: [] },
  ])("are refused, all of them, when they are $what", async ({ names }) => {
    expect(await prepend(names.map((name) => block(name)))).toBe(false);
    expect([tables.head, tables.tail]).toEqual([headAt("a11"), 10]);
    expect(names.filter((name) => isReadable(name) || positionOf(`of ${name}`))).toEqual([]);
  });

  it("are refused by a store without blocks", async () => {
    await store.clear();
    expect(await prepend([block("a9")])).toBe(false);
    expect([tables.head, tables.tail]).toEqual([undefined, undefined]);
  });
});

describe("a store that is opened again", () => {
  const answers = () => ({
    ends: [tables.head, tables.tail],
    hashes: [1, 2, 3, 4, 5].map((number) => tables.hashAt(number)),
    positions: ["of a1", "of a2", "of a3", "of b3", "of b4"].map(positionOf),
    receipts: ["a1", "a2", "a3", "b3", "b4"].map((name) => stored(name)?.receipts()?.toString()),
    terms: ["a2", "b4"].map((name) => postings(name)?.toString("hex")),
    bytes: tables.bytes,
  });
  beforeEach(async () => {
    openStore({ windowBlocks: 3 });
    await grow(block("a2"), block("a3"));
    await store.apply({ removed: 1, added: [block("b3", { on: "a2" }), block("b4")] });
    await store.keep(block("a1"), true);
  });

  it.each([false, true])("gives the same answers, for reading only: %s", async (readOnly) => {
    const before = answers();
    expect(before.ends).toEqual([headAt("b4"), 2]);
    expect(before.receipts.every(Boolean)).toBe(true);
    await store.close();
    tables = new BlockTables({ path: folder, readOnly });
    expect(answers()).toEqual(before);
    await tables.close();
    openStore({ windowBlocks: 3 });
    expect(answers()).toEqual(before);
  });

  it("goes on where it was", async () => {
    await store.close();
    openStore({ windowBlocks: 3 });
    await grow(block("b5"));
    expect([tables.head, tables.tail]).toEqual([headAt("b5"), 3]);
    expect(canonical("a1", "a2", "b3", "b4", "b5")).toEqual(["a1", "b3", "b4", "b5"]);
  });

  it("keeps its blocks for its own chain only", async () => {
    await store.clear();
    expect(await store.prepareFor(1)).toEqual({ wasCleared: false });
    await grow(block("a1"));
    expect(await store.prepareFor(1)).toEqual({ wasCleared: false });
    expect(isReadable("a1")).toBe(true);
    expect(await store.prepareFor(5)).toEqual({ wasCleared: true });
    expect([tables.head, tables.tail, isReadable("a1")]).toEqual([undefined, undefined, false]);
  });
});

describe("a kept block", () => {
  const eleven = Array.from({ length: 10 }, (_, index) => block(`a${index + 11}`, LARGE));

  it("takes the place of the window's oldest when there is no room, and leaves no hole", async () => {
    openStore();
    await grow(...eleven);
    await store.close();
    openStore({ bytes: 200_000 });
    await store.keep(block("a3"), true);
    expect(isReadable("a3")).toBe(true);
    const tail = tables.tail ?? 0;
    expect(tail).toBeGreaterThan(11);
    for (let number = tail; number <= 20; number += 1) expect(isReadable(`a${number}`)).toBe(true);
  });

  it("that is not canonical takes no transaction with it when it leaves", async () => {
    openStore({ bytes: TIGHT });
    await grow(block("a10", { transactions: ["shared"] }));
    await store.keep(block("b10", { transactions: ["shared"] }), false);
    for (let number = 20; isReadable("b10"); number += 1)
      await store.keep(block(`c${number}`, LARGE), false);
    expect(positionOf("shared")).toEqual({ number: 10, index: 0 });
  });

  it("that is asked for by its number later is found by it", async () => {
    openStore();
    await grow(block("a10"));
    await store.keep(block("a3"), false);
    expect(tables.hashAt(3)).toBeUndefined();
    await store.keep(block("a3"), true);
    expect(tables.hashAt(3)).toBe(hashOf("a3"));
    expect(positionOf("of a3")).toEqual({ number: 3, index: 0 });
  });
});

it("does not fall back to a block that it does not have", async () => {
  openStore();
  await grow(block("a10"), block("a11"));
  await expect(store.apply({ removed: 2, added: [] })).rejects.toThrow("no block 9");
  expect(tables.head).toEqual(headAt("a11"));
});

describe("traces that are kept with a block", () => {
  const first = { index: 0, part: "trace" } as const;
  const traced = Buffer.from('[{"type":"call"}]');
  const keptOf = (name: string, at: Parameters<BlockTables["trace"]>[1] = first) =>
    tables.trace(hashOf(name), at)?.toString();

  beforeEach(async () => {
    openStore({ windowBlocks: 3 });
    await grow(block("a1"), block("a2"), block("a3"));
    await store.keepTrace(hashOf("a1"), first, traced);
  });

  it("are found by block, transaction and part", () => {
    expect(keptOf("a1")).toBe(String(traced));
    expect(keptOf("a2")).toBeUndefined();
    expect(keptOf("a1", { index: 1, part: "trace" })).toBeUndefined();
    expect(keptOf("a1", { index: 0, part: "stateDiff" })).toBeUndefined();
  });

  it("leave with their block, and no others do", async () => {
    await store.keepTrace(hashOf("a2"), { index: 300, part: "vmTrace" }, traced);
    await store.keepTrace(hashOf("a1"), { index: 2 ** 32 - 1, part: "vmTrace" }, traced);
    await grow(block("a4"));
    expect(keptOf("a1")).toBeUndefined();
    expect(keptOf("a1", { index: 2 ** 32 - 1, part: "vmTrace" })).toBeUndefined();
    expect(keptOf("a2", { index: 300, part: "vmTrace" })).toBe(String(traced));
  });

  it("of a block that is not here are not kept", async () => {
    await store.keepTrace(hashOf("a9"), first, traced);
    expect(keptOf("a9")).toBeUndefined();
  });

  it("count into the budget: the oldest blocks leave for them", async () => {
    await store.close();
    openStore({ bytes: TIGHT });
    for (let index = 0; index < 40; index += 1)
      await store.keepTrace(
        hashOf("a3"),
        { index, part: "vmTrace" },
        jsonOf(noise(`${index}`, 16_000)),
      );
    expect(tables.tail).toBe(3);
  });
});

describe("a transaction that is read again and again", () => {
  const read = (): string => String(stored("a1")?.transaction(0));

  it("is what the store has, also when its block comes anew with other content", async () => {
    openStore();
    await store.startAt(block("a1"));
    const first = [1, 2, 3, 4].map(read);
    expect(new Set(first)).toEqual(new Set([JSON.stringify(transactionOf("a1", 4))]));
    await store.clear();
    await store.startAt(block("a1", { inputBytes: 8 }));
    const second = [1, 2, 3, 4].map(read);
    expect(new Set(second)).toEqual(new Set([JSON.stringify(transactionOf("a1", 8))]));
  });

  it("is found no more when its block has left the store", async () => {
    openStore();
    await store.startAt(block("a1"));
    const held = stored("a1");
    expect([1, 2, 3].map(() => String(held?.transaction(0)))).toHaveLength(3);
    await store.clear();
    expect(() => held?.transaction(0)).toThrow("no transactions");
  });

  const transactionOf = (name: string, inputBytes: number) => ({
    hash: hashOf(`of ${name}`),
    input: `0x${noise(name, inputBytes)}`,
  });
});
