import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { type GeneratedBlock, GeneratedChain } from "../../test/support/generated-chain.ts";
import { atOnce } from "../lib/turns.ts";
import { BlockEntries } from "./block-entries.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore } from "./block-store.ts";
import { BlockTables } from "./block-tables.ts";

const recordFrom = ({ blockJson, receiptsJson }: GeneratedBlock): BlockRecord => {
  const json = { block: Buffer.from(blockJson), receipts: Buffer.from(receiptsJson) };
  const parsed = { block: JSON.parse(blockJson), receipts: JSON.parse(receiptsJson) };
  const record = recordOf(json, parsed, "full");
  if (!record) throw new Error("no block");
  return record;
};

/** All that is told of the newest blocks. */
function told(tables: BlockTables, from: number, hashes: readonly string[]): unknown {
  const blocks = Array.from({ length: 8 }, (_, index) => tables.blockAt(from + index));
  const places = hashes.map((hash) => {
    const place = tables.transactionPosition(hash);
    const block = place && tables.blockAt(place.number);
    return place && [block?.hash, String(block?.receipt(place.index))];
  });
  const texts = blocks.map((block) =>
    block ? [block.hash, String(block.withTransactions()), String(block.receipts())] : undefined,
  );
  return { head: tables.head, texts, places };
}

/** So many blocks leave, as many and more come; some that stay are compressed. */
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
    const hashes = blocksFrom(0).flatMap((block) => recordFrom(block).transactionHashes);
    for (const { removed, added, packed } of all) {
      const first = chain.head.number - removed + 1;
      chain.reorganise(removed, removed + added);
      await store.apply({ removed, added: blocksFrom(first).map(recordFrom) });
      hashes.push(...blocksFrom(first).flatMap((block) => recordFrom(block).transactionHashes));
      const hash = store.tables.hashAt(chain.head.number - packed);
      if (hash) await store.tables.root.transaction(() => atOnce(entries.pack(hash)));
      const from = chain.head.number - 7;
      const fresh = new BlockTables({ path, readOnly: true });
      const unheld = told(fresh, from, hashes);
      expect(told(store.tables, from, hashes)).toEqual(unheld);
      expect(told(store.tables, from, hashes)).toEqual(unheld); // what was held just now
      await fresh.close();
      const newest = store.tables.blockAt(chain.head.number);
      expect(String(newest?.withTransactions())).toBe(chain.head.blockJson);
      expect(String(newest?.receipts())).toBe(chain.head.receiptsJson);
    }
    await store.close();
    rmSync(path, { recursive: true });
  });
  await fc.assert(property, { numRuns: 8 });
});
