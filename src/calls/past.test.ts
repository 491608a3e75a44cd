import { expect, it } from "vitest";
import { isOfThePast } from "./past.ts";

const stored = `0x${"a".repeat(64)}`;
const mined = `0x${"b".repeat(64)}`;
const unknown = `0x${"c".repeat(64)}`;
/** Blocks 3 to 7. */
const past = {
  blockAt: (number: number) => (number >= 3 && number <= 7 ? ({} as never) : undefined),
  blockOf: (hash: string) => (hash === stored ? ({} as never) : undefined),
  transaction: (hash: string) => (hash === mined ? ({} as never) : undefined),
};

it.each([
  { params: ["0x5", true] },
  { params: [stored, false] },
  { params: [mined] },
  { params: [{ blockNumber: "0x5" }] },
  { params: [{ blockHash: stored }] },
  { params: [{ fromBlock: "0x3", toBlock: "0x7", topics: [] }] },
  { params: [{ fromEpoch: "0x3", toEpoch: "0x7" }] },
])("$params is of the past", ({ params }) => {
  expect(isOfThePast(JSON.stringify(params), past)).toBe(true);
});

it.each([
  { params: [] },
  { params: ["latest", true] },
  { params: ["0x8", true] },
  { params: ["0x2", true] },
  { params: [unknown] },
  { params: [{ blockHash: unknown }] },
  { params: [{ fromBlock: "0x3" }] },
  { params: [{ fromBlock: "0x3", toBlock: "latest" }] },
  { params: [{ fromBlock: "0x3", toBlock: "0x8" }] },
  { params: [null] },
  { params: [{}] },
  { params: [["0x5"]] },
])("$params may have to do with what is newest", ({ params }) => {
  expect(isOfThePast(JSON.stringify(params), past)).toBe(false);
});

it("parameters that cannot be read are not", () => {
  expect(isOfThePast("[", past)).toBe(false);
  expect(isOfThePast('{"a":1}', past)).toBe(false);
});
