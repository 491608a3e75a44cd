import fc from "fast-check";
import { expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { type LogFilter, matcherOf } from "../evm/log-filter.ts";
import { selectLogs } from "./log-search.ts";
import { LogSelection } from "./log-selection.ts";

const digits = (value: number, length: number): string => value.toString(16).padStart(length, "0");
const address = (value: number): string => `0x${digits(value, 40)}`;
const word = (value: number): string => `0x${digits(value, 64)}`;

type Log = { address: number; topics: number[]; bytes: number; isSpaced: boolean };
/** Receipts with their logs, and the text between two logs. */
type Block = { receipts: Log[][]; gap: string };

const logJson = ({ address: of, topics, bytes, isSpaced }: Log): string => {
  const list = topics.map((topic) => `"${word(topic)}"`);
  return isSpaced
    ? `{ "topics": [${list.join(" , ")}], "removed":false, "address":"${address(of)}", "é":"${"x".repeat(bytes)}" }`
    : `{"address":"${address(of)}","topics":[${list.join(",")}],"data":"${"x".repeat(bytes)}","removed":false}`;
};

/** A store of these blocks; the number of a block is its index. */
function storeOf(blocks: readonly Block[]) {
  const parts = new Map<string, readonly Buffer[]>();
  for (const [number, { receipts, gap }] of blocks.entries()) {
    const transactions = receipts.map((_, index) => ({ hash: word(number * 100 + index) }));
    const head = { number: `0x${number.toString(16)}`, hash: word(number), parentHash: word(0) };
    const block = JSON.stringify({ ...head, transactions });
    const list = receipts.map((logs) => `{"logs":[${logs.map(logJson).join(gap)}],"status":"0x1"}`);
    const json = { block: Buffer.from(block), receipts: Buffer.from(`[${list.join(",")}]`) };
    const parsed = { block: JSON.parse(block), receipts: JSON.parse(String(json.receipts)) };
    const record = recordOf(json, parsed, "full");
    if (!record) throw new Error("no block");
    parts.set(`${number} receipts`, record.receiptPieces);
    parts.set(`${number} logs`, [record.logs]);
  }
  const part = (hash: string | Buffer, name: string, piece = 0): Buffer | undefined => {
    const number = typeof hash === "string" ? Number(hash) : hash.readUInt32BE(28);
    const bytes = parts.get(`${number} ${name}`)?.[piece];
    return bytes && Buffer.from(bytes);
  };
  return { part };
}

const small = fc.integer({ min: 1, max: 3 });
const anyLog = fc.record({
  address: small,
  topics: fc.array(small, { maxLength: 4 }),
  bytes: fc.oneof(fc.nat(50), fc.nat(30_000)),
  isSpaced: fc.boolean(),
});
const anyBlocks = fc.array(
  fc.record({
    receipts: fc.array(fc.array(anyLog, { maxLength: 5 }), { maxLength: 12 }),
    gap: fc.constantFrom(",", " ,", ",\n"),
  }),
  { maxLength: 4 },
);
const anyFilter = fc.record({
  address: fc.option(fc.array(small, { maxLength: 2 })),
  topics: fc.array(fc.option(small), { maxLength: 2 }),
});

it("finds the logs that match, as their blocks have them, however many they are", () => {
  const property = fc.property(
    anyBlocks,
    anyFilter,
    fc.nat(9),
    fc.nat(9),
    (all, asked, from, more) => {
      const filter: LogFilter = {
        address: asked.address?.map(address),
        topics: asked.topics.map((topic) => (topic === null ? null : word(topic))),
      };
      const isMatch = (log: Log): boolean =>
        (!asked.address || asked.address.length === 0 || asked.address.includes(log.address)) &&
        asked.topics.length <= log.topics.length &&
        asked.topics.every((topic, index) => topic === null || topic === log.topics[index]);
      const told = all.flatMap(({ receipts }, number) =>
        receipts
          .flat()
          .filter(isMatch)
          .map((log) => ({ number, json: logJson(log) })),
      );
      const texts = told.map(({ json }) => json);
      const store = storeOf(all);
      const found = new LogSelection({ store });
      for (const [number] of all.entries()) {
        const hash = Buffer.from(word(number).slice(2), "hex");
        selectLogs({ number, hash }, { matcher: matcherOf(filter), store }, found);
      }
      found.keepFew();
      const sent = (some: LogSelection): string => Buffer.concat([...some.chunks()]).toString();
      expect(told.map((_, index) => found.numberOf(index))).toEqual(
        told.map(({ number }) => number),
      );
      expect(sent(found)).toBe(texts.join(","));
      expect(found.length).toBe(Buffer.byteLength(texts.join(",")));
      expect(found.fewRuns === undefined).toBe(found.length > 131_072);
      if (found.fewRuns) expect(found.fewRuns.join(",")).toBe(texts.join(","));
      expect((found.few ?? found.all()).map(String)).toEqual(texts);
      const part = found.slice(Math.min(from, texts.length), Math.min(from + more, texts.length));
      expect(sent(part)).toBe(texts.slice(from, from + more).join(","));
      if (part.few) expect(part.few.map(String)).toEqual(texts.slice(from, from + more));
      found.dropCopies();
      expect(found.all().map(String)).toEqual(texts);
    },
  );
  fc.assert(property, { numRuns: 150 });
});
