import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore } from "./block-store.ts";
import { asTheyAre, packed, partKey } from "./block-tables.ts";

/** A budget in bytes: half of it is more than 300 blocks take, compressed or not. */
const PLENTY = 2 ** 40;
/** A budget in bytes: half of it is less than 300 blocks take. */
const SMALL = 8_000_000;
const NEWEST = 256;

let path: string;
let store: BlockStore;
const openStore = async (bytes: number): Promise<void> => {
  store = new BlockStore({ path, windowBlocks: 2 ** 30, bytes });
  await store.prepareFor(1);
};
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "headgate-store-"));
});
afterEach(async () => {
  await store.close();
  rmSync(path, { recursive: true });
});

const hashOf = (name: string): string => `0x${createHash("sha256").update(name).digest("hex")}`;

/** A block of ten transactions that compresses well, and the JSON that it was made of. */
function block(number: number): { record: BlockRecord; receipts: Buffer; json: Buffer } {
  const list = Array.from({ length: 10 }, (_, index) => ({
    ...{ hash: hashOf(`${number} ${index}`), input: `0x${"00".repeat(500)}` },
  }));
  const logs = [{ address: hashOf("a").slice(0, 42), topics: [], removed: false }];
  const receipts = list.map(({ hash }) => ({ transactionHash: hash, logs }));
  const parsed = {
    ...{ number: `0x${number.toString(16)}`, hash: hashOf(`${number}`) },
    ...{ parentHash: hashOf(`${number - 1}`), transactions: list },
  };
  const json = Buffer.from(JSON.stringify(parsed));
  const all = Buffer.from(JSON.stringify(receipts));
  const record = recordOf({ block: json, receipts: all }, { block: parsed, receipts }, "full");
  if (!record) throw new Error("this is not a block");
  return { record, receipts: all, json };
}
const blocks = (from: number, to: number): BlockRecord[] =>
  Array.from({ length: to - from + 1 }, (_, index) => block(from + index).record);

const isPackedAt = (number: number): boolean => store.tables.isPacked(hashOf(`${number}`));
/** The numbers of the first and the last block that is compressed. */
const packedRange = (from: number, to: number): number[] => {
  const all = Array.from({ length: to - from + 1 }, (_, index) => from + index).filter(isPackedAt);
  return [...new Set([...all.slice(0, 1), ...all.slice(-1)])];
};
const isAnsweredAsGiven = (number: number): boolean => {
  const stored = store.tables.blockAt(number);
  const { json, receipts } = block(number);
  return (
    stored?.withTransactions().equals(json) === true && stored.receipts()?.equals(receipts) === true
  );
};
/** Adds blocks below the tail, newest first. */
const prepend = async (records: readonly BlockRecord[]): Promise<boolean> =>
  (await store.below.add(records)) && (await store.below.finish()) === records.length;
/** Waits for the background work of the last change: the next change waits for it, too. */
const settle = (): Promise<unknown> => store.apply({ removed: 0, added: [] });

it("compresses nothing while the store is small", async () => {
  await openStore(PLENTY);
  await store.apply({ removed: 0, added: blocks(1, 300) });
  await settle();
  expect(packedRange(1, 300)).toEqual([]);
});

it("compresses the oldest blocks of a large store, some after each change, and none of the newest", async () => {
  await openStore(SMALL);
  await store.apply({ removed: 0, added: blocks(1, 300) });
  const plain = store.tables.bytes;
  await settle();
  const [first, last] = packedRange(1, 300);
  expect(first).toBe(1);
  expect(last).toBeLessThanOrEqual(8);
  for (let times = 0; times < 20; times += 1) await settle();
  expect(packedRange(1, 300)).toEqual([1, 300 - NEWEST]);
  expect(store.tables.bytes).toBeLessThan(plain * 0.95);
  expect([1, 10, 44, 45, 300].map(isAnsweredAsGiven)).toEqual(Array(5).fill(true));
});

it("goes on where another process was ended", async () => {
  await openStore(SMALL);
  await store.apply({ removed: 0, added: blocks(1, 300) });
  await settle();
  await store.close();
  await openStore(SMALL);
  const before = packedRange(1, 300).at(-1);
  for (let times = 0; times < 20; times += 1) await settle();
  expect(before).toBeLessThan(20);
  expect(packedRange(1, 300)).toEqual([1, 300 - NEWEST]);
  expect([1, 4, 5, 44].map(isAnsweredAsGiven)).toEqual(Array(4).fill(true));
});

it("writes what comes below the window compressed when the store is large, or what stands above is", async () => {
  await openStore(SMALL);
  await store.apply({ removed: 0, added: blocks(101, 400) });
  await prepend(blocks(91, 100).reverse());
  expect(packedRange(91, 100)).toEqual([91, 100]);
  store.resize({ windowBlocks: 2 ** 30, bytes: PLENTY });
  await prepend(blocks(81, 90).reverse());
  expect(packedRange(81, 90)).toEqual([81, 90]);
  expect([81, 91, 100, 101].map(isAnsweredAsGiven)).toEqual(Array(4).fill(true));
});

it("drops, finds and erases compressed blocks as others", async () => {
  await openStore(SMALL);
  await store.apply({ removed: 0, added: blocks(1, 300) });
  for (let times = 0; times < 20; times += 1) await settle();
  await store.apply({ removed: 260, added: [] });
  expect(store.tables.transactionPosition(hashOf("41 3"))).toBeUndefined();
  expect(store.tables.transactionPosition(hashOf("40 3"))).toEqual({ number: 40, index: 3 });
  store.resize({ windowBlocks: 10, bytes: SMALL });
  await settle();
  expect(store.tables.tail).toBe(31);
  const left = [...store.tables.parts.getKeys({})].filter((key) =>
    key.subarray(0, 32).equals(Buffer.from(hashOf("30").slice(2), "hex")),
  );
  expect(left).toEqual([]);
});

it.each([asTheyAre, packed])("reads a part as it was given, packed or not", async (packing) => {
  await openStore(PLENTY);
  const part = fc.constantFrom("outline", "block", "transactions", "receipts", "logs", "uncles");
  const bytes = fc.uint8Array({ maxLength: 20_000 });
  await store.tables.root.transaction(() =>
    fc.assert(
      fc.property(part, bytes, fc.nat(0xffff), (name, given, piece) => {
        const value = packing(name, Buffer.from(given));
        store.tables.parts.putSync(partKey(hashOf("1"), name, piece), value);
        const read = store.tables.part(hashOf("1"), name, piece);
        expect(read?.equals(Buffer.from(given))).toBe(true);
      }),
    ),
  );
});
