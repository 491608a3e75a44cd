import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { BlockEntries } from "./block-entries.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore, type RunWrite } from "./block-store.ts";
import { BlockTables } from "./block-tables.ts";
import { StoredBlock } from "./stored-block.ts";

const TRANSACTIONS = 6_000;
const hashOf = (name: string): string => `0x${Buffer.from(name).toString("hex").padStart(64, "0")}`;

/** @param name Names another block than the usual one of this number. @param note A text in each receipt. */
function block(number: number, transactions: number, name = `${number}`, note = "") {
  const hash = hashOf(`block ${name}`);
  const list = Array.from({ length: transactions }, (_, at) => ({
    hash: hashOf(`${name} ${at}`),
  }));
  const parsed = {
    ...{ number: `0x${number.toString(16)}`, hash, parentHash: hashOf(`block ${number - 1}`) },
    transactions: list,
  };
  const receipts = list.map(() => ({
    logs: [{ address: `0x${"aa".repeat(20)}`, topics: [], removed: false }],
    ...(note ? { note } : {}),
  }));
  const json = {
    block: Buffer.from(JSON.stringify(parsed)),
    receipts: Buffer.from(JSON.stringify(receipts)),
  };
  const record = recordOf(json, { block: parsed, receipts }, "full");
  if (!record) throw new Error("this is not a block");
  return { record, json };
}

let path: string;
let store: BlockStore;
let runWrite: RunWrite;
const openStore = async (): Promise<void> => {
  runWrite = (write) => write();
  const run: RunWrite = (write) => runWrite(write);
  store = new BlockStore({ path, windowBlocks: 100, bytes: 2 ** 30 }, { run });
  await store.prepareFor(1);
};
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), "headgate-store-"));
  await openStore();
  await store.startAt(block(0, 1).record);
});
afterEach(async () => {
  await store.close();
  rmSync(path, { recursive: true, force: true });
});

describe("a block of very many transactions", () => {
  it("is written in several transactions, and is there as any other", async () => {
    const { record, json } = block(1, TRANSACTIONS);
    const moved = store.apply({ removed: 0, added: [record] });
    let turns = 0;
    while (store.tables.head?.number !== 1) {
      expect(store.tables.outline(record.hash)).toBeUndefined();
      await new Promise(setImmediate);
      store.tables.refresh();
      turns += 1;
    }
    await moved;
    expect(turns).toBeGreaterThan(2);
    const stored = new StoredBlock(
      { hash: record.hash, outline: record.outline },
      { store: store.tables },
    );
    expect(stored.withTransactions().equals(json.block)).toBe(true);
    expect(stored.receipts()?.equals(json.receipts)).toBe(true);
    expect(store.tables.transactionPosition(hashOf(`1 ${TRANSACTIONS - 1}`))).toEqual({
      number: 1,
      index: TRANSACTIONS - 1,
    });
    expect(store.tables.note("staged")).toBeUndefined();
  });

  it("leaves nothing behind when its writing was cut off", async () => {
    const { record } = block(1, TRANSACTIONS);
    await store.setNote("staged", `${record.hash} 1`);
    await store.close();
    const tables = new BlockTables({ path });
    const work = new BlockEntries(tables).stage(record);
    // This writes the pieces of all transactions and receipts, and the positions of the first transactions.
    await tables.root.transaction(() => {
      while (!tables.transactionPosition(hashOf("1 0"))) work.next();
    });
    expect(tables.part(record.hash, "transactions", 0)).toBeDefined();
    await tables.root.close();
    await openStore();
    expect(store.tables.head?.number).toBe(0);
    expect(store.tables.transactionPosition(hashOf("1 0"))).toBeUndefined();
    expect(store.tables.transactionPosition(hashOf("0 0"))).toBeDefined();
    expect(store.tables.part(record.hash, "transactions", 0)).toBeUndefined();
    await store.apply({ removed: 0, added: [record] });
    expect(store.tables.head?.number).toBe(1);
  });
});

describe("a block of very many transactions whose writing failed", () => {
  const failed = block(1, TRANSACTIONS).record;
  const other = block(1, 2, "another block").record;
  const positionsIn = (name: string) =>
    [0, 1].map((at) => store.tables.transactionPosition(hashOf(`${name} ${at}`)));
  const POSITIONS = [0, 1].map((index) => ({ number: 1, index }));

  /** The disk takes this many writes, and then refuses all until the update has failed. */
  const fail = async (writes: number, added: readonly BlockRecord[]): Promise<void> => {
    let left = writes;
    runWrite = (write) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error("no space")) : write();
    };
    await expect(store.apply({ removed: 0, added })).rejects.toThrow("no space");
    runWrite = (write) => write();
  };
  /** The writes of the note, of the pieces, and of the first positions. */
  const WRITES = 4;

  it("is not found in the block that comes in its place", async () => {
    await fail(WRITES, [failed]);
    expect(store.tables.transactionPosition(hashOf("1 0"))).toBeDefined();
    await store.apply({ removed: 0, added: [other] });
    expect(positionsIn("1")).toEqual([undefined, undefined]);
    expect(positionsIn("another block")).toEqual(POSITIONS);
  });

  it("takes nothing of the block in its place with it at the next start", async () => {
    await fail(WRITES, [failed]);
    await store.apply({ removed: 0, added: [other] });
    await store.close();
    await openStore();
    expect(positionsIn("another block")).toEqual(POSITIONS);
  });

  it("is no reason to take out what was stored since, where its note was left", async () => {
    await store.apply({ removed: 0, added: [other] });
    await store.setNote("staged", `${failed.hash} 1`);
    await store.close();
    await openStore();
    expect(positionsIn("another block")).toEqual(POSITIONS);
    expect(store.tables.note("staged")).toBeUndefined();
  });

  it("leaves nothing behind when it was one of several", async () => {
    await fail(WRITES + 8, [failed, block(2, TRANSACTIONS).record]);
    await store.apply({ removed: 0, added: [other] });
    expect(positionsIn("1")).toEqual([undefined, undefined]);
    expect(store.tables.part(failed.hash, "transactions", 0)).toBeUndefined();
  });
});

describe("a block of very many transactions that leaves", () => {
  const huge = block(1, TRANSACTIONS).record;
  const small = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => block(from + at, 1).record);
  /** Closes the store, counts what its tables hold of the huge block, and opens the store again. */
  const leftOver = async (): Promise<{
    parts: number;
    transactions: number;
    isErasing: boolean;
  }> => {
    await store.close();
    const tables = new BlockTables({ path });
    const start = Buffer.from(huge.hash.slice(2), "hex");
    const end = Buffer.concat([start, Buffer.alloc(8, 0xff)]);
    const parts = [...tables.parts.getKeys({ start, end })].length;
    const positions = [...tables.transactions.getRange({})];
    const transactions = positions.filter(({ value }) => value.readUInt32BE(0) === 1).length;
    const { isErasing } = tables;
    await tables.root.close();
    await openStore();
    return { parts, transactions, isErasing };
  };
  const NOTHING = { parts: 0, transactions: 0, isErasing: false };
  const turn = async (): Promise<void> => {
    await new Promise(setImmediate);
    store.tables.refresh();
  };

  it("is seen by nobody at once, and is erased in many turns", async () => {
    await store.apply({ removed: 0, added: [huge] });
    await store.apply({ removed: 0, added: small(2, 101) });
    expect(store.tables.tail).toBe(2);
    expect([store.tables.hashAt(1), store.tables.outline(huge.hash)]).toEqual([
      undefined,
      undefined,
    ]);
    let turns = 0;
    for (; store.tables.transactionPosition(hashOf(`1 ${TRANSACTIONS - 1}`)); turns += 1)
      await turn();
    expect(turns).toBeGreaterThan(2);
    // A change waits until all of it is gone.
    await store.apply({ removed: 0, added: small(102, 102) });
    expect(store.tables.transactionPosition(hashOf("2 0"))).toBeUndefined(); // block 2 left the window, too
    expect(store.tables.transactionPosition(hashOf("3 0"))).toEqual({ number: 3, index: 0 });
    expect(await leftOver()).toEqual(NOTHING);
  });

  it("is gone after the next start when its erasing was cut off", async () => {
    await store.apply({ removed: 0, added: [huge] });
    await store.apply({ removed: 0, added: small(2, 101) });
    await turn();
    const cutOff = await leftOver();
    expect(cutOff.isErasing).toBe(true);
    expect(cutOff.parts).toBeGreaterThan(0);
    expect(await leftOver()).toEqual(NOTHING);
    expect([store.tables.head?.number, store.tables.tail]).toEqual([101, 2]);
  });

  it("is whole when it is kept again meanwhile", async () => {
    await store.apply({ removed: 0, added: [huge] });
    await store.apply({ removed: 0, added: small(2, 101) });
    await store.keep(huge, true);
    const stored = new StoredBlock(
      { hash: huge.hash, outline: huge.outline },
      { store: store.tables },
    );
    expect(stored.withTransactions().equals(block(1, TRANSACTIONS).json.block)).toBe(true);
    expect(store.tables.transactionPosition(hashOf("1 7"))).toEqual({ number: 1, index: 7 });
  });

  it("is what came last, also for who read it while it left", async () => {
    const { hash } = huge;
    await store.keep(huge, true);
    const reader = new BlockTables({ path, readOnly: true });
    const held = reader.blockOf(hash);
    const entries = new BlockEntries(store.tables);
    await store.tables.root.transaction(() => entries.erase({ number: 1, hash }));
    reader.refresh();
    expect([reader.head?.number, reader.blockOf(hash)]).toEqual([0, undefined]);
    for (let time = 0; time < 3; time += 1) expect(String(held?.receipt(0))).toContain("logs");
    const { record, json } = block(1, TRANSACTIONS, "1", "from another node");
    await store.keep(record, true); // waits until the first block is erased
    reader.refresh();
    expect(String(reader.blockAt(1)?.receipt(0))).toBe(
      JSON.stringify(JSON.parse(String(json.receipts))[0]),
    );
    await reader.close();
  });

  it("makes room for the others, and they stay", async () => {
    await store.apply({ removed: 0, added: [huge, ...small(2, 20)] });
    store.resize({ windowBlocks: 100, bytes: store.tables.bytes - 1 });
    await store.apply({ removed: 0, added: small(21, 21) });
    expect(store.tables.tail).toBe(2);
    await store.apply({ removed: 0, added: small(22, 22) });
    expect(await leftOver()).toEqual(NOTHING);
    expect(store.tables.tail).toBe(2);
  });
});
