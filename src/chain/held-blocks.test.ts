import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { type GeneratedBlock, GeneratedChain } from "../../test/support/generated-chain.ts";
import { atOnce } from "../lib/turns.ts";
import { BlockEntries } from "./block-entries.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore } from "./block-store.ts";
import { BlockTables } from "./block-tables.ts";
import { transactionHashesIn } from "./stored-block.ts";

const recordFrom = ({ blockJson, receiptsJson }: GeneratedBlock): BlockRecord => {
  const json = { block: Buffer.from(blockJson), receipts: Buffer.from(receiptsJson) };
  const parsed = { block: JSON.parse(blockJson), receipts: JSON.parse(receiptsJson) };
  const record = recordOf(json, parsed, "full");
  if (!record) throw new Error("no block");
  return record;
};

/** All answers about the newest blocks. */
function told(tables: BlockTables, from: number, hashes: readonly string[]): unknown {
  const blocks = Array.from({ length: 8 }, (_, index) => tables.blockAt(from + index));
  const positions = hashes.map((hash) => {
    const position = tables.transactionPosition(hash);
    const block = position && tables.blockAt(position.number);
    return position && [block?.hash, String(block?.receipt(position.index))];
  });
  const texts = blocks.map((block) =>
    block ? [block.hash, String(block.withTransactions()), String(block.receipts())] : undefined,
  );
  return { head: tables.head, texts, positions };
}

/** In each step this many blocks are removed, as many and more are added, and a block that stays may be compressed. */
const steps = fc.array(
  fc.record({ removed: fc.nat(4), added: fc.integer({ min: 1, max: 3 }), packed: fc.nat(7) }),
  { minLength: 1, maxLength: 6 },
);

it("what is held of blocks is what the store has, over reorganisations and compression", async () => {
  const property = fc.asyncProperty(fc.nat(1_000), steps, async (seed, all) => {
    const path = mkdtempSync(join(tmpdir(), "headgate-held-"));
    const store = new BlockStore({ path, windowBlocks: 100, bytes: 2 ** 30 });
    const entries = new BlockEntries(store.tables);
    const chain = new GeneratedChain({ seed, transactions: [0, 12], logs: [0, 90] });
    chain.extend(6);
    const blocksFrom = (first: number): GeneratedBlock[] =>
      Array.from({ length: chain.head.number - first + 1 }, (_, index) =>
        chain.block(first + index),
      ).filter((block) => block !== undefined);
    await store.apply({ removed: 0, added: blocksFrom(0).map(recordFrom) });
    const hashes = blocksFrom(0).flatMap((block) => transactionHashesIn(recordFrom(block).block));
    const reader = new BlockTables({ path, readOnly: true });
    const beside = new BlockTables({ path, isWrittenElsewhere: true });
    for (const { removed, added, packed } of all) {
      const first = chain.head.number - removed + 1;
      chain.reorganise(removed, removed + added);
      await store.apply({ removed, added: blocksFrom(first).map(recordFrom) });
      hashes.push(
        ...blocksFrom(first).flatMap((block) => transactionHashesIn(recordFrom(block).block)),
      );
      const hash = store.tables.hashAt(chain.head.number - packed);
      if (hash) await store.tables.root.transaction(() => atOnce(entries.pack(hash)));
      const from = chain.head.number - 7;
      const fresh = new BlockTables({ path, readOnly: true });
      const unheld = told(fresh, from, hashes);
      expect(told(store.tables, from, hashes)).toEqual(unheld);
      expect(told(store.tables, from, hashes)).toEqual(unheld); // from the cache
      for (const tables of [reader, beside]) {
        tables.refresh();
        for (let time = 0; time < 3; time += 1) expect(told(tables, from, hashes)).toEqual(unheld); // from the cache
      }
      await fresh.close();
      const newest = store.tables.blockAt(chain.head.number);
      expect(String(newest?.withTransactions())).toBe(chain.head.blockJson);
      expect(String(newest?.receipts())).toBe(chain.head.receiptsJson);
    }
    await reader.close();
    await beside.close();
    await store.close();
    rmSync(path, { recursive: true });
  });
  await fc.assert(property, { numRuns: 8 });
});

/** The same block, as another node writes it: each receipt and transaction has one more member. */
const asAnotherNode = ({ blockJson, receiptsJson, ...rest }: GeneratedBlock): GeneratedBlock => {
  const more = (each: object) => ({ ...each, note: "f".repeat(6_000) });
  const block = JSON.parse(blockJson) as { transactions: object[] };
  return {
    ...rest,
    blockJson: JSON.stringify({ ...block, transactions: block.transactions.map(more) }),
    receiptsJson: JSON.stringify((JSON.parse(receiptsJson) as object[]).map(more)),
  };
};

describe("a block that comes a second time, from a node that writes it in another way", () => {
  let path: string;
  let store: BlockStore;
  const chain = new GeneratedChain({ seed: 3, transactions: [12, 12], logs: [12, 12] });
  chain.extend(4);
  const blockAt = (number: number): GeneratedBlock => chain.block(number) as GeneratedBlock;
  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), "headgate-again-"));
    store = new BlockStore({ path, windowBlocks: 100, bytes: 2 ** 30 });
    await store.startAt(recordFrom(blockAt(3)));
  });
  afterEach(async () => {
    await store.close();
    rmSync(path, { recursive: true });
  });

  /** The transaction hash in each receipt and transaction of a block, read by index. */
  const namedIn = (tables: BlockTables, number: number): unknown[] =>
    blockAt(number).signed.map((_, index) => {
      const block = tables.blockAt(number);
      const receipt = JSON.parse(String(block?.receipt(index)));
      const transaction = JSON.parse(String(block?.transaction(index)));
      return [receipt.transactionHash, transaction.hash];
    });
  const named = (number: number) => blockAt(number).signed.map(({ hash }) => [hash, hash]);
  const both = async (check: (tables: BlockTables) => Promise<void>): Promise<void> => {
    const reader = new BlockTables({ path, readOnly: true });
    try {
      await check(reader);
    } finally {
      await reader.close();
    }
  };

  it("is what it was, when callers had asked for it before it was filled in", async () => {
    await both(async (reader) => {
      await store.keep(recordFrom(asAnotherNode(blockAt(2))), true);
      for (const tables of [store.tables, reader]) {
        tables.refresh();
        expect(namedIn(tables, 2)).toEqual(named(2));
      }
      await store.below.add([recordFrom(blockAt(2)), recordFrom(blockAt(1))]);
      await store.below.finish();
      for (const tables of [store.tables, reader]) {
        tables.refresh();
        expect(namedIn(tables, 2)).toEqual(named(2));
        expect(String(tables.blockAt(2)?.receipts())).toBe(
          String(tables.blockOf(blockAt(2).hash)?.receipts()),
        );
      }
    });
  });

  it("is what it was, when it was dropped and is back before anybody looked", async () => {
    await both(async (reader) => {
      await store.apply({ removed: 0, added: [recordFrom(asAnotherNode(blockAt(4)))] });
      reader.refresh();
      expect([reader.head?.number, namedIn(reader, 4)]).toEqual([4, named(4)]);
      await store.apply({ removed: 1, added: [] });
      await store.apply({ removed: 0, added: [recordFrom(blockAt(4))] });
      reader.refresh();
      expect([reader.head?.number, namedIn(reader, 4)]).toEqual([4, named(4)]);
    });
  });

  it("is what came last, when it had left the store meanwhile", async () => {
    await both(async (reader) => {
      await store.keep(recordFrom(asAnotherNode(blockAt(2))), true);
      reader.refresh();
      expect([reader.head?.number, namedIn(reader, 2)]).toEqual([3, named(2)]);
      const entries = new BlockEntries(store.tables);
      await store.tables.root.transaction(() => entries.eraseAt(2));
      await store.keep(recordFrom(blockAt(2)), true);
      reader.refresh();
      expect([reader.head?.number, namedIn(reader, 2)]).toEqual([3, named(2)]);
      expect(String(reader.blockAt(2)?.receipts())).toBe(blockAt(2).receiptsJson);
    });
  });

  it("gives its place to the one that the chain goes through, where callers were given another", async () => {
    const other = new GeneratedChain({ seed: 4, transactions: [12, 12], logs: [12, 12] });
    other.extend(2);
    const elsewhere = other.block(2) as GeneratedBlock;
    await both(async (reader) => {
      await store.keep(recordFrom(elsewhere), true);
      const positionOf = ({ hash }: { hash: string }) => reader.transactionPosition(hash);
      const positions = elsewhere.signed.map((_, index) => ({ number: 2, index }));
      reader.refresh();
      for (let time = 0; time < 3; time += 1)
        expect([reader.blockAt(2)?.hash, elsewhere.signed.map(positionOf)]).toEqual([
          elsewhere.hash,
          positions,
        ]);
      expect(await store.below.add([recordFrom(blockAt(2))])).toBe(true);
      reader.refresh();
      expect(reader.blockAt(2)?.hash).toBe(blockAt(2).hash);
      expect(blockAt(2).signed.map(positionOf)).toEqual(positions);
      expect(elsewhere.signed.map(positionOf)).toEqual(elsewhere.signed.map(() => undefined));
    });
  });

  it("takes its transactions with it when it leaves, although they were found just now", async () => {
    await both(async (reader) => {
      await store.apply({ removed: 0, added: [recordFrom(blockAt(4))] });
      reader.refresh();
      const positions = () =>
        blockAt(4).signed.map(({ hash }) => reader.transactionPosition(hash)?.index);
      const all = blockAt(4).signed.map((_, index) => index);
      expect([positions(), positions().toReversed()]).toEqual([all, all.toReversed()]);
      await store.apply({ removed: 1, added: [] });
      reader.refresh();
      expect(positions()).toEqual(all.map(() => undefined));
      await store.apply({ removed: 0, added: [recordFrom(blockAt(4))] });
      reader.refresh();
      expect(positions()).toEqual(all);
    });
  });
});
