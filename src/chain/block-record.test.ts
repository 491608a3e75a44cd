import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { ADDRESS, fieldOfTopic, hashTerm } from "../evm/log-filter.ts";
import { type AnswerJson, isSource, LONGEST_TEXT } from "../jsonrpc/raw-json.ts";
import { type BlockRecord, receivedRecord, sentRecord } from "./block-record.ts";
import { addressIn, findLogSpans, topicsIn } from "./log-index.ts";
import {
  decodeOutline,
  encodeOutline,
  itemsOf,
  type ProofLevel,
  StoredBlock,
  transactionHashesIn,
} from "./stored-block.ts";

const digits = (value: number, length: number): string =>
  `0x${value.toString(16).padStart(length, "0")}`;
const hash = (value: number): string => digits(value, 64);
const HASH = digits(0xb10c, 64);

/** A transaction as a node may write it, with spaces, escapes and letters beyond ASCII. */
const transaction = (index: number): string =>
  `{"hash":"${hash(index)}", "note":"Größe ${index} \\u00e9 \\"},{\\""}`;

type Log = { readonly address: string; readonly topics: readonly string[] };
const log = (index: number): Log => ({
  address: digits(index, 40),
  topics: Array.from({ length: index % 5 }, (_, topic) => hash(index * 10 + topic)),
});
const compact = ({ address, topics }: Log): string =>
  `{"address":"${address}","topics":${JSON.stringify(topics)},"data":"0x","removed":false}`;
const spaced = ({ address, topics }: Log): string =>
  `{ "topics": [ ${topics.map((each) => `"${each}"`).join(" , ")} ], "removed": false, "address": "${address}" }`;

/** This many transactions fill one piece, or several. */
const FEW = 9;
const SEVERAL = 600;

/** Lengths in bytes: an answer beyond `LONGEST_TEXT` is not a text; a still longer one is read while it is sent. */
const LONG = [0, LONGEST_TEXT, 300_000];
const sent = (json: AnswerJson): string =>
  isSource(json) ? Buffer.concat([...json.chunks()]).toString() : String(json);

const receipt = (index: number, logs: readonly string[] = []): string =>
  `{"transactionHash":"${hash(index)}","né":"é","logs":[${logs.join(",")}], "status":"0x1"}`;

const blockJson = (transactions: readonly string[], more = ""): string =>
  `{"number":"0x1b4", "hash":"${HASH.toUpperCase().replace("X", "x")}","extra":"Ж",` +
  `"transactions" : [${transactions.join(",")}] ,"parentHash":"${hash(1)}"${more}}`;
const arrayOf = (items: readonly string[]): string => `[${items.join(",")}]`;

type Json = { block: string; receipts: string; uncles?: string; proof?: ProofLevel };
function recordFrom({ block, receipts, uncles, proof = "full" }: Json): BlockRecord | undefined {
  const json = {
    block: Buffer.from(block),
    receipts: Buffer.from(receipts),
    uncles: uncles === undefined ? undefined : Buffer.from(uncles),
  };
  return recordOf(json, { block: JSON.parse(block), receipts: JSON.parse(receipts) }, proof);
}

/** Reads a block back from its parts, as the store does. */
function readBack(json: Json): { record: BlockRecord; read: StoredBlock } {
  const record = recordFrom(json);
  if (!record) throw new Error("no block");
  const { block, transactionPieces: transactions, receiptPieces: receipts, uncles } = record;
  const pieces = {
    outline: [],
    block: [block],
    transactions,
    receipts,
    logs: [],
    uncles: [uncles],
  };
  const store = {
    part: (of: string | Buffer, part: keyof typeof pieces, piece = 0) =>
      of === HASH ? pieces[part][piece] : undefined,
  };
  const outline = decodeOutline(encodeOutline(record.outline));
  return { record, read: new StoredBlock({ hash: record.hash, outline }, { store }) };
}
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("a block", () => {
  it.each([0, 1, FEW, SEVERAL])(
    "with %i transactions is read back as the node wrote it, byte for byte",
    (count) => {
      const transactions = numbers(count).map(transaction);
      const receipts = numbers(count).map((index) => receipt(index));
      const json = { block: blockJson(transactions), receipts: arrayOf(receipts) };
      const { record, read } = readBack(json);
      const hashes = numbers(count).map(hash);
      expect(String(read.withTransactions())).toBe(json.block);
      expect(String(read.withHashes())).toBe(blockJson(hashes.map((each) => `"${each}"`)));
      expect(String(read.receipts())).toBe(json.receipts);
      for (const index of numbers(count)) {
        expect(String(read.transaction(index))).toBe(transactions[index]);
        expect(String(read.receipt(index))).toBe(receipts[index]);
      }
      expect([read.transaction(count), read.receipt(count)]).toEqual([undefined, undefined]);
      expect(record.transactionPieces.length > 1).toBe(count === SEVERAL);
      expect(record.receiptPieces.length > 1).toBe(count === SEVERAL);
      expect(transactionHashesIn(record.block)).toEqual(hashes);
    },
  );

  it.each(["ASCII", "é"])("is sent as it is read, of any length: %s", (letters) => {
    const count = 19;
    for (const length of LONG) {
      const item = (index: number): string =>
        `{"hash":"${hash(index)}","note":"${letters}${"x".repeat(length / count)}","logs":[]}`;
      const items = numbers(count).map(item);
      const json = { block: blockJson(items).replace("Ж", letters), receipts: arrayOf(items) };
      const { read } = readBack(json);
      expect(sent(read.withTransactionsToSend())).toBe(json.block);
      expect(sent(read.receiptsToSend() ?? "")).toBe(json.receipts);
      expect(sent(read.withHashesToSend())).toBe(read.withHashes().toString());
      expect([read.transaction(1), read.receipt(1)].map(String)).toEqual([items[1], items[1]]);
    }
  });

  it.each(["[]", undefined])("is the same in another thread, with the uncles %s", (uncles) => {
    const transactions = numbers(SEVERAL).map((index) => transaction(index));
    const receipts = numbers(SEVERAL).map((index) => receipt(index));
    const json = { block: blockJson(transactions), receipts: arrayOf(receipts) };
    const { record } = readBack(uncles === undefined ? json : { ...json, uncles });
    const { bytes, ...rest } = sentRecord(record);
    const there = structuredClone({ ...rest, bytes }, { transfer: [bytes.buffer] });
    expect(receivedRecord(there)).toEqual(record);
    expect(bytes).toHaveLength(0); // nothing was copied
  });

  it("has its hashes in lower case, and its numbers as numbers", () => {
    const more = ',"timestamp":"0x65","uncles":["0x1","0x2"]';
    const { record, read } = readBack({ block: blockJson([], more), receipts: "[]" });
    expect(record.hash).toBe(HASH);
    expect(read.outline).toEqual(record.outline);
    expect(read.outline).toMatchObject({ number: 0x1b4, timestamp: 0x65, parentHash: hash(1) });
    expect(read.outline).toMatchObject({ transactions: 0, uncles: 2, proof: "full" });
  });

  it.each(["[]", '[{"number" : "0x1"},{"é":1}]', undefined])("has the uncles %s", (uncles) => {
    const json = { block: blockJson([]), receipts: "[]" };
    const { read } = readBack(uncles === undefined ? json : { ...json, uncles });
    expect(read.uncles()?.toString()).toBe(uncles);
  });

  const one = blockJson([transaction(0)]);
  it.each([
    { what: "without transactions", block: '{"number":"0x1"}', receipts: "[]" },
    { what: "with hashes only", block: blockJson(['"0x1"']), receipts: arrayOf([receipt(0)]) },
    { what: "with too few receipts", block: one, receipts: "[]" },
    { what: "with too many receipts", block: one, receipts: arrayOf([receipt(0), receipt(1)]) },
    { what: "with a receipt without logs", block: one, receipts: "[{}]" },
    {
      what: "with a log without an address",
      block: one,
      receipts: '[{"logs":[{"topics":[],"removed":false}]}]',
    },
    {
      what: "with a topic that is too short",
      block: one,
      receipts: '[{"logs":[{"address":"0x1","topics":["0x1"],"removed":false}]}]',
    },
  ])("$what is none", ({ block, receipts }) => {
    expect(recordFrom({ block, receipts })).toBeUndefined();
  });
});

describe("the bloom of a receipt", () => {
  const of = (positions: readonly number[], digit: string): string => {
    const bloom = [..."0".repeat(512)];
    for (const position of positions) bloom[position] = digit;
    return `"logsBloom":"0x${bloom.join("")}"`;
  };
  const few = fc.record({
    positions: fc.array(fc.nat(511), { maxLength: 40 }),
    digit: fc.constantFrom("1", "9", "a", "f"),
  });
  const blooms = fc.oneof(
    { weight: 4, arbitrary: few.map(({ positions, digit }) => of(positions, digit)) },
    fc.constantFrom(
      of([0, 511], "A"),
      of([], "0").replace("00", "0"), // a digit too few
      of([], "0").replace("00", "000"),
      of([...Array(512).keys()], "f"),
      of([3], "g"),
      of([3], "é"),
      `"logsBloom":"0x"`,
      `"logsBloom":null`,
      `${of([1], "4")},${of([2], "2").replace("logsBloom", "more")}`,
      `${of([1], "4")},${of([2], "2")}`, // the same name twice
      of([1], "4").replace("Bloom", "\\u0042loom"),
      of([1], "4").replace(":", ": "),
      `"more":{${of([1], "4")}}`,
      `"more":{${of([1], "4")}},${of([2], "2")}`,
      `"more":${JSON.stringify(`{${of([1], "4")}}`)}`, // in a text
    ),
  );
  const receipts = fc.record({
    bloom: blooms,
    isFirst: fc.boolean(),
    logs: fc.array(fc.nat(20), { maxLength: 3 }),
    isInLog: fc.boolean(),
    isLong: fc.integer({ min: 0, max: 9 }).map((chance) => chance === 0),
  });

  it("is stored as its few digits, and every answer is what the node wrote, byte for byte", () => {
    fc.assert(
      fc.property(fc.array(receipts, { maxLength: 40 }), (list) => {
        const written = list.map(({ bloom, isFirst, logs, isInLog, isLong }, index) => {
          const within = logs.map((each) =>
            isInLog ? compact(log(each)).replace('"data"', `${bloom},"data"`) : compact(log(each)),
          );
          const rest = `"note":"${"é".repeat(isLong ? 40_000 : index)}"`;
          const others = `"logs":[${within.join(",")}],${rest}`;
          return isFirst ? `{${bloom},${others}}` : `{${others},${bloom}}`;
        });
        const json = {
          block: blockJson(list.map((_, index) => transaction(index))),
          receipts: arrayOf(written),
        };
        const { record, read } = readBack(json);
        expect(String(read.receipts())).toBe(json.receipts);
        expect(sent(read.receiptsToSend() ?? "")).toBe(json.receipts);
        for (const [index, text] of written.entries())
          expect(String(read.receipt(index))).toBe(text);
        const spans = findLogSpans(record.logs, () => true);
        const found = spans.map(({ piece, start, length }) =>
          String(itemsOf(record.receiptPieces[piece] as Buffer).subarray(start, start + length)),
        );
        expect(found).toEqual(
          list.flatMap(({ bloom, logs: some, isInLog }) =>
            some.map((each) =>
              isInLog
                ? compact(log(each)).replace('"data"', `${bloom},"data"`)
                : compact(log(each)),
            ),
          ),
        );
      }),
    );
  });

  it.each([1_000, 5_000])("is taken out of each of %i receipts", (count) => {
    const written = numbers(count).map((index) => `{${of([index % 512], "8")},"logs":[]}`);
    const block = blockJson(numbers(count).map((index) => transaction(index)));
    const { record, read } = readBack({ block, receipts: arrayOf(written) });
    expect(sent(read.receiptsToSend() ?? "")).toBe(arrayOf(written));
    for (const index of [0, 1, count / 2, count - 1])
      expect(String(read.receipt(index))).toBe(written[index]);
    const bytes = record.receiptPieces.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(60 * count);
  });

  it("takes next to nothing", () => {
    const bloom = of([3, 200, 511], "4");
    const json = `{${bloom},"logs":[]}`;
    const { record } = readBack({ block: blockJson([transaction(0)]), receipts: arrayOf([json]) });
    expect(record.receiptPieces[0]?.length).toBeLessThan(60);
  });
});

it("an outline is read back as it was written", () => {
  const u32 = fc.nat(2 ** 32 - 1);
  const outlines = fc.record({
    number: u32,
    timestamp: fc.nat(Number.MAX_SAFE_INTEGER),
    parentHash: fc.nat().map(hash),
    transactions: u32,
    uncles: fc.nat(2 ** 16 - 1),
    hasUncles: fc.boolean(),
    hasReceipts: fc.boolean(),
    transactionBytes: u32,
    receiptBytes: u32,
    transactionPieces: fc.uint32Array(),
    receiptPieces: fc.uint32Array(),
    proof: fc.constantFrom<ProofLevel>("none", "partial", "full"),
    blockProof: fc.constantFrom<ProofLevel>("none", "partial", "full"),
  });
  fc.assert(
    fc.property(outlines, (outline) => {
      expect(decodeOutline(encodeOutline(outline))).toEqual(outline);
    }),
  );
});

it("an outline of format 3 has receipts, and one level for all parts", () => {
  const { outline } = readBack({ block: blockJson([]), receipts: "[]" }).record;
  const bytes = encodeOutline({ ...outline, hasUncles: true });
  bytes.writeUInt8(1, 58);
  bytes.writeUInt8(1, 59);
  const [hasUncles, hasReceipts] = [true, true];
  const levels = { proof: "partial", blockProof: "partial" };
  expect(decodeOutline(bytes)).toEqual({ ...outline, hasUncles, hasReceipts, ...levels });
});

describe("the logs of a block", () => {
  /** For each log that may match: its JSON, its address and its topics. */
  function logsIn(record: BlockRecord, mayMatch: Parameters<typeof findLogSpans>[1] = () => true) {
    return findLogSpans(record.logs, mayMatch).map((span) => {
      const piece = record.receiptPieces[span.piece] as Buffer;
      const json = itemsOf(piece).subarray(span.start, span.start + span.length);
      return {
        json: String(json),
        log: { address: addressIn(json, span), topics: topicsIn(json, span) },
      };
    });
  }
  /** Every receipt has two logs, but every third receipt has none. */
  function blockOf(receipts: number, write: (each: Log) => string) {
    const logs = numbers(2 * receipts)
      .map((index) => ({ receipt: Math.floor(index / 2), log: log(index) }))
      .filter((each) => each.receipt % 3 !== 2)
      .map((each) => ({ ...each, json: write(each.log) }));
    const json = numbers(receipts).map((index) =>
      receipt(
        index,
        logs.filter((each) => each.receipt === index).map((each) => each.json),
      ),
    );
    const block = blockJson(numbers(receipts).map(transaction));
    return { logs, ...readBack({ block, receipts: arrayOf(json) }) };
  }

  it.each([
    { written: "without spaces", write: compact },
    { written: "with spaces", write: spaced },
  ])("written $written are found where they stand in the receipts", ({ write }) => {
    const { logs, record } = blockOf(FEW, write);
    expect(logsIn(record)).toEqual(logs.map(({ json, log: told }) => ({ json, log: told })));
  });

  it("are found by the terms of their addresses and topics", () => {
    const { logs, record } = blockOf(FEW, compact);
    const { log: wanted } = logs.find((each) => each.log.topics.length === 2) ?? { log: log(0) };
    const terms = [
      hashTerm(wanted.address, ADDRESS),
      ...wanted.topics.map((topic, index) => hashTerm(topic, fieldOfTopic(index))),
    ];
    const found = logsIn(
      record,
      (words, first, topics) =>
        topics === 2 && terms.every((term, index) => words[first + index] === term),
    );
    expect(found.map((each) => each.log)).toEqual([wanted]);
  });

  it("are told from the other objects of a receipt", () => {
    const written = compact(log(3));
    const json = `{"others":[{"address":"0x1"}],"fee":{},"logs":[${written}],"more":[[{}]]}`;
    const { record } = readBack({ block: blockJson([transaction(0)]), receipts: arrayOf([json]) });
    expect(logsIn(record)).toEqual([{ json: written, log: log(3) }]);
  });

  it("are the last ones, as for whoever parses the receipt, where a node names them twice", () => {
    const [first, last] = [1, 2].map((each) => compact(log(each)));
    const json = `{"logs":[${first},${first}],"status":"0x1","logs":[${last}]}`;
    const block = blockJson([transaction(0)]);
    const { record, read } = readBack({ block, receipts: arrayOf([json]) });
    const [span, ...others] = findLogSpans(record.logs, () => true);
    const { start = 0, length = 0 } = span ?? {};
    expect(others).toEqual([]);
    expect(String(itemsOf(record.receiptPieces[0] as Buffer).subarray(start, start + length))).toBe(
      last,
    );
    expect(String(read.receipt(0))).toBe(json);
  });

  it("may be a great many", () => {
    const { logs, record } = blockOf(1200, compact);
    expect(logsIn(record)).toEqual(logs.map(({ json, log: told }) => ({ json, log: told })));
  });

  it("are not there in a block without any", () => {
    const { record } = readBack({ block: blockJson([]), receipts: "[]" });
    expect(logsIn(record)).toEqual([]);
  });

  it("say that they were not removed, also where the node does not", () => {
    const { address, topics } = log(3);
    const json = JSON.stringify({ status: "0x1", logs: [{ address, topics }] });
    const block = blockJson([transaction(0)]);
    const { record, read } = readBack({ block, receipts: arrayOf([json]) });
    const completed = { address, topics, removed: false };
    expect(JSON.parse(String(read.receipt(0)))).toEqual({ status: "0x1", logs: [completed] });
    expect(logsIn(record)).toEqual([{ json: JSON.stringify(completed), log: { address, topics } }]);
  });
});
