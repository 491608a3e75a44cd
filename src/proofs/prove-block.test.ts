import { describe, expect, it } from "vitest";
import { proveBlock } from "../../test/support/at-once.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { keccak256 } from "../evm/keccak.ts";
import { headerHash } from "./check-header.ts";
import type { Json } from "./json.ts";
import { EMPTY_ROOT } from "./ordered-trie.ts";
import { RlpWriter } from "./rlp-writer.ts";

const word = (digit: string): string => `0x${digit.repeat(64)}`;
const NO_BLOOM = `0x${"00".repeat(256)}`;

const header: Json = {
  parentHash: word("1"),
  sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
  miner: `0x${"2".repeat(40)}`,
  stateRoot: word("3"),
  transactionsRoot: EMPTY_ROOT,
  receiptsRoot: EMPTY_ROOT,
  logsBloom: NO_BLOOM,
  difficulty: "0x0",
  number: "0x10",
  gasLimit: "0x1c9c380",
  gasUsed: "0x0",
  timestamp: "0x65000000",
  extraData: "0x",
  mixHash: word("4"),
  nonce: "0x0000000000000000",
};

const hashed = (fields: Json): Json => ({
  ...fields,
  hash: headerHash(fields),
  uncles: [],
  transactions: [],
});

const known = { chainId: 1337 };
const unlisted = { chainId: 424_242 };

describe("a header without its hash", () => {
  const foreign = { ...hashed(header), hash: word("9"), sealFields: ["0x01"] };
  const odd = { part: "header hash", reason: expect.stringContaining("says 0x9999") };

  it("is odd on a chain that is not listed, whatever members it has", () => {
    const { sealFields: _, ...plain } = foreign;
    for (const block of [foreign, plain])
      expect(proveBlock({ block, receipts: [] }, unlisted)).toEqual({
        kind: "proven",
        unproven: ["header hash"],
        odd: [odd],
      });
  });

  it("is a lie where it is known how the chain hashes its headers", () => {
    expect(proveBlock({ block: foreign, receipts: [] }, known)).toMatchObject({
      kind: "failed",
      part: "header hash",
    });
  });

  it("is not expected to have it where nobody could repeat how the chain hashes", () => {
    expect(proveBlock({ block: foreign, receipts: [] }, { chainId: 250 })).toEqual({
      kind: "proven",
      unproven: ["header hash"],
      odd: [],
    });
  });

  it("is odd where it lacks a member, since nothing contradicts it", () => {
    const { mixHash: _, ...rest } = hashed(header);
    expect(proveBlock({ block: rest, receipts: [] }, known)).toMatchObject({
      kind: "proven",
      odd: [{ part: "header hash" }],
    });
  });
});

it("proves withdrawals by their root also where chains may keep something else in its place", () => {
  const chain = new GeneratedChain({ seed: 5 });
  chain.extend(6);
  const ofHead = Array.from({ length: 6 }, (_, index) => chain.block(index + 1)?.blockJson ?? "");
  const blocks = ofHead.map((json) => JSON.parse(json) as Json & { withdrawals: Json[] });
  const block = blocks.find(({ withdrawals }) => withdrawals.length > 0) as (typeof blocks)[0];
  const withoutOdd = { kind: "proven", odd: [] };
  expect(proveBlock({ block }, { chainId: 10 })).toMatchObject(withoutOdd);
  const [first, ...rest] = block.withdrawals;
  const changed = { ...block, withdrawals: [{ ...first, amount: "0x7" }, ...rest] };
  expect(proveBlock({ block: changed }, { chainId: 10 })).toMatchObject({
    ...{ kind: "failed", part: "withdrawals root" },
  });
});

it("proves a header with fields of a fork to come at its end", () => {
  const writer = new RlpWriter();
  const base = { ...header, baseFeePerGas: "0x7" };
  writer.list(() => {
    for (const [name, value] of Object.entries(base))
      if (/^(difficulty|number|gas.*|timestamp|base.*)$/.test(name)) writer.quantity(value);
      else writer.data(value);
    writer.data(word("5"));
    writer.quantity("0x0");
  });
  const hash = keccak256(writer.since(0) ?? Buffer.of());
  const block = { ...hashed(base), mood: "good", rootToCome: word("5"), countToCome: "0x0", hash };
  expect(proveBlock({ block, receipts: [] }, known)).toEqual({
    kind: "proven",
    unproven: [],
    odd: [],
  });
});

describe("a block with a transaction that nobody signed", () => {
  const withTransaction = (transaction: Json, fields: Json = {}) => {
    const block = hashed({ ...header, ...fields });
    const place = { blockHash: block["hash"], blockNumber: "0x10", transactionIndex: "0x0" };
    return { ...block, ...fields, transactions: [{ hash: word("6"), ...place, ...transaction }] };
  };

  it.each([
    { network: "Optimism", transaction: { type: "0x7e", r: "0x0", s: "0x0", v: "0x0" } },
    { network: "Arbitrum", transaction: { type: "0x6a" } },
    { network: "Polygon", transaction: { type: "0x0", r: "0x0", s: "0x0", v: "0x0" } },
  ])("of $network leaves its root unproven", ({ transaction }) => {
    expect(proveBlock({ block: withTransaction(transaction) }, known)).toEqual({
      kind: "proven",
      unproven: ["transactions root", "receipts root", "logs bloom"],
      odd: [],
    });
  });

  it("may keep a root of something else in place of withdrawals, as Optimism does since Isthmus", () => {
    const fields = { baseFeePerGas: "0x1", withdrawalsRoot: word("7"), withdrawals: [] };
    const { transactions, ...rest } = withTransaction({ type: "0x7e" }, fields);
    const block = { ...rest, transactions };
    const parts = ["transactions root", "receipts root", "logs bloom"];
    expect(proveBlock({ block }, { chainId: 10 })).toMatchObject({ unproven: parts });
    expect(proveBlock({ block }, unlisted)).toMatchObject({
      unproven: [...parts, "withdrawals root"],
      odd: [],
    });
    expect(proveBlock({ block }, known)).toMatchObject({
      kind: "failed",
      part: "withdrawals root",
    });
    const withOne = { ...block, withdrawals: [{ index: "0x0" }] };
    expect(proveBlock({ block: withOne }, { chainId: 10 })).toMatchObject({
      kind: "failed",
      part: "withdrawals root",
    });
  });
});

it.each([
  undefined,
  null,
  "",
  [],
  {},
  { hash: null },
  { transactions: [null] },
  { transactions: "0x" },
])("fails for %j", (block) => {
  expect(proveBlock({ block: block as unknown as Json }, unlisted).kind).toBe("failed");
});

describe("receipts of before Byzantium without their root, as Erigon gives them", () => {
  const block: Json = {
    ...hashed({ ...header, receiptsRoot: word("6") }),
    transactions: [word("8")],
  };
  const place = {
    blockHash: block["hash"],
    blockNumber: "0x10",
    transactionHash: word("8"),
    transactionIndex: "0x0",
    type: "0x0",
  };
  const gas = { cumulativeGasUsed: "0x0", logsBloom: NO_BLOOM, logs: [] };
  const receipts: Json[] = [{ ...place, ...gas, status: "0x1" }];

  it("are unproven where it is known that they should have one", () => {
    expect(proveBlock({ block, receipts }, { chainId: 1 })).toEqual({
      kind: "proven",
      unproven: ["transactions root", "receipts root"],
      odd: [],
    });
  });

  it("are a lie in every other block", () => {
    expect(proveBlock({ block, receipts }, { chainId: 1337 })).toMatchObject({
      part: "receipts root",
    });
    expect(
      proveBlock({ block, receipts: [{ ...receipts[0], root: word("7") }] }, { chainId: 1 }),
    ).toMatchObject({ part: "receipts root" });
  });
});

it("fails for what is no list of receipts", () => {
  const receipts = [null] as unknown as Json[];
  expect(proveBlock({ block: hashed(header), receipts }, known)).toMatchObject({
    part: "receipts root",
  });
});
