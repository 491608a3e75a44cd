import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { Random } from "../../test/support/generated-chain/random.ts";
import { BlockStore } from "./block-store.ts";
import { ChainView, type ViewParts } from "./chain-view.ts";
import { keptSegmentsOf } from "./kept-segments.ts";

const BYTES = 4_000_000;
/** The bytes of this budget that kept logs may take. */
const SHARE = BYTES * 0.05;

let folder: string;
let store: BlockStore;
const openStore = (bytes = BYTES): void => {
  store = new BlockStore({ path: folder, windowBlocks: 100, bytes });
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-segments-"));
  openStore();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const criteria = Buffer.alloc(32, 7);
const rangeFrom = (from: number) => ({ criteria, from, to: from + 1_999 });
const random = new Random(4);
/** Text that does not compress well, of about this many bytes on disk. */
const noise = (bytes: number): Buffer =>
  Buffer.from(`["${Buffer.from(random.hex(bytes).slice(2), "hex").toString("base64")}"]`);
const keep = (at: ReturnType<typeof rangeFrom>, json: Buffer, upstreams = ["a"]): Promise<void> =>
  store.keepSegment(at, { json, upstreams });
const isKept = (from: number): boolean => store.tables.segment(rangeFrom(from)) !== undefined;

it("gives back what was kept of a segment, also after a restart", async () => {
  await keep(rangeFrom(2_000), Buffer.from("[1]"));
  await keep(rangeFrom(4_000), Buffer.from("[]"));
  await keep(rangeFrom(2_000), Buffer.from("[2]")); // a second answer to the same query
  await store.close();
  openStore();
  expect(store.tables.segment(rangeFrom(2_000))?.toString()).toBe("[1]");
  expect(store.tables.segment(rangeFrom(4_000))?.toString()).toBe("[]");
  expect(store.tables.segment({ ...rangeFrom(2_000), to: 2_999 })).toBeUndefined();
  expect(
    store.tables.segment({ ...rangeFrom(2_000), criteria: Buffer.alloc(32, 8) }),
  ).toBeUndefined();
});

it("has a small share of the budget: the first to come leave first", async () => {
  const numbers = Array.from({ length: 30 }, (_, index) => index * 2_000);
  for (const from of numbers) await keep(rangeFrom(from), noise(20_000));
  const kept = numbers.filter(isKept);
  expect(kept.length).toBeGreaterThan(5);
  expect(kept.length * 20_000).toBeLessThan(SHARE);
  expect(kept).toEqual(numbers.slice(-kept.length));
});

it("leaves before any block does", async () => {
  await store.close();
  openStore(400_000);
  for (let from = 0; from < 10_000; from += 2_000) await keep(rangeFrom(from), noise(1_000));
  expect(isKept(0)).toBe(true);
  const hashOf = (number: number) => `0x${number.toString(16).padStart(64, "0")}`;
  for (let number = 1; number <= 12; number += 1) {
    const input = random.hex(25_000);
    const block = {
      number: `0x${number.toString(16)}`,
      hash: hashOf(number),
      parentHash: hashOf(number - 1),
      transactions: [{ hash: random.hex(32), input }],
    };
    const json = { block: Buffer.from(JSON.stringify(block)), receipts: Buffer.from("[{}]") };
    const record = recordOf(json, { block, receipts: [{ logs: [] }] }, "full");
    if (!record) throw new Error("that is no block");
    await store.apply({ removed: 0, added: [record] });
    if (!isKept(8_000)) break;
    expect(store.tables.tail).toBe(1);
  }
  expect(isKept(8_000)).toBe(false);
});

it("is thrown away with the blocks", async () => {
  await store.prepareFor(1);
  await keep(rangeFrom(0), Buffer.from("[]"));
  await store.prepareFor(2);
  expect(isKept(0)).toBe(false);
  await keep(rangeFrom(0), Buffer.from("[]"));
  expect(isKept(0)).toBe(true);
});

it("is kept for blocks that are final, all of them", async () => {
  const final = { number: 3_999, hash: "0x" };
  const viewAt = (finalized: typeof final | undefined, finalAfter?: number): ChainView => {
    const writer = {
      keepSegment: store.keepSegment.bind(store),
      tagged: async () => finalized,
    };
    const parts = { store: store.tables, writer, finalAfter };
    const head = { number: 9_000, hash: "0x" };
    return new ChainView({ head, isShared: false }, parts as unknown as ViewParts);
  };
  await viewAt(undefined).keepLogs(rangeFrom(2_000), { json: Buffer.from("[]"), upstreams: ["a"] });
  await viewAt({ ...final, number: 3_998 }).keepLogs(rangeFrom(2_000), {
    json: Buffer.from("[]"),
    upstreams: ["a"],
  });
  // With `finalAfter` the chain itself tells finality, whatever the nodes say.
  const deep = { json: Buffer.from("[]"), upstreams: ["a"] };
  await viewAt(final, 5_002).keepLogs(rangeFrom(2_000), deep);
  await viewAt(undefined, 5_002).keepLogs(rangeFrom(2_000), deep);
  await viewAt({ ...final, number: 3_998 }, 5_001).keepLogs(rangeFrom(2_000), deep);
  expect(viewAt(final).keptLogs(rangeFrom(2_000))).toBeUndefined();
  await viewAt(undefined, 7_001).keepLogs(rangeFrom(0), deep);
  expect(viewAt(final).keptLogs(rangeFrom(0))?.toString()).toBe("[]");
  await viewAt(final).keepLogs(rangeFrom(2_000), { json: Buffer.from("[]"), upstreams: ["a"] });
  expect(viewAt(final).keptLogs(rangeFrom(2_000))?.toString()).toBe("[]");
});

it("is told with who told it, and goes with them", async () => {
  await keep(rangeFrom(0), Buffer.from("[]"), ["a"]);
  await keep(rangeFrom(2_000), Buffer.from("[]"), ["b"]);
  await keep(rangeFrom(4_000), Buffer.from("[]"), ["a", "b"]);
  expect(keptSegmentsOf(store.tables)).toMatchObject([
    { from: 0, to: 1_999, upstreams: ["a"] },
    { from: 2_000, to: 3_999, upstreams: ["b"] },
    { from: 4_000, to: 5_999, upstreams: ["a", "b"] },
  ]);
  expect(await store.forgetSegments({ of: "a" })).toBe(2);
  expect([0, 2_000, 4_000].map(isKept)).toEqual([false, true, false]);
});
