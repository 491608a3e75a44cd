// Members that no hash covers, in blocks whose roots fit.
import { describe, expect, it } from "vitest";
import { another, leavesOf, patternOf, UNCOVERED, withLeaf } from "../../test/proofs/mutations.ts";
import { proveBlock } from "../../test/support/at-once.ts";
import {
  address,
  blockWith,
  bloom,
  encoded,
  legacy,
  logItems,
  logOf,
  partsThatAre,
  placed,
  receiptItems,
  UNLISTED,
  word,
} from "../../test/support/composed-blocks.ts";
import { levelOf } from "../chain/writing.ts";
import type { Json } from "./json.ts";

describe("what nodes derive from a block", () => {
  const all = ["0x1", "0x2", "0x3"].map(legacy);
  const gas = ["0x5208", "0xa410", "0xf618"];
  const block = blockWith(
    all.map(({ json }) => json),
    {
      transactions: all.map((each) => each.bytes),
      receipts: gas.map((each) => encoded(receiptItems(each, [logItems]))),
      bloom,
    },
  );
  const receiptsWith = (own: (index: number) => Json, indexes = [0, 1, 2]): Json[] =>
    placed(
      block,
      gas.map((cumulativeGasUsed, index) => ({
        ...{ cumulativeGasUsed, gasUsed: "0x5208", logs: [logOf(indexes[index] ?? 0)] },
        ...own(index),
      })),
    );
  const right = receiptsWith(() => ({}));

  it("is right", () => {
    for (const chainId of [1, 10, 137, 100, UNLISTED])
      expect(proveBlock({ block, receipts: right }, { chainId })).toEqual({
        kind: "proven",
        unproven: [],
        odd: [],
      });
  });

  it.each([
    { what: "log indexes 0, 1, 0", receipts: receiptsWith(() => ({}), [0, 1, 0]) },
    {
      what: "a recipient of a created contract",
      receipts: receiptsWith(() => ({ to: address("e") })),
    },
    {
      what: "a hole in the indexes",
      receipts: receiptsWith((index) => ({ transactionIndex: `0x${2 * index}` })),
    },
    { what: "another gasUsed", receipts: receiptsWith(() => ({ gasUsed: "0x1" })) },
    { what: "another sender", receipts: receiptsWith(() => ({ from: address("e") })) },
    {
      what: "a contract that nobody created",
      receipts: receiptsWith(() => ({ contractAddress: address("e") })),
    },
    { what: "no receipts", receipts: [] },
  ])("is a lie on Ethereum and odd on other chains where it is off: $what", ({ receipts }) => {
    expect(proveBlock({ block, receipts }, { chainId: 1 })).toMatchObject({ kind: "failed" });
    const proof = proveBlock({ block, receipts }, { chainId: UNLISTED });
    expect(partsThatAre(proof, "odd")).toContain("places");
    expect(proof.kind === "proven" && levelOf(proof)).toBe("partial");
  });

  it.each([10, 100, 137])("is not proven whole with another value, on chain %i", (chainId) => {
    const covered = leavesOf({ block, receipts: right }).filter(
      (path) => !UNCOVERED.has(patternOf(path)),
    );
    const unnoticed = covered.filter((path) => {
      const changed = withLeaf({ block, receipts: right }, path, another);
      const proof = proveBlock(changed, { chainId });
      return proof.kind === "proven" && levelOf(proof) === "full";
    });
    // A legacy transaction may have a `yParity`, which nothing covers.
    const names = new Set(unnoticed.map(patternOf));
    expect([...names].filter((name) => !name.endsWith(".yParity"))).toEqual([]);
  });

  it.each([
    { what: "another block", own: { blockHash: word("9") } },
    { what: "another height", own: { blockNumber: "0x1" } },
    { what: "another transaction", own: { transactionHash: word("9") } },
  ])("is a lie on any chain whose header is proven where it is of $what", ({ own }) => {
    const inReceipt = receiptsWith((index) => (index === 1 ? own : {}));
    const inLog = receiptsWith((index) => (index === 1 ? { logs: [logOf(1, own)] } : {}));
    for (const chainId of [1, 137, UNLISTED])
      for (const receipts of [inReceipt, inLog])
        expect(proveBlock({ block, receipts }, { chainId })).toMatchObject({
          kind: "failed",
          part: "places",
        });
  });

  it("is odd at most where the header is not proven", () => {
    const strange = { ...block, hash: word("9") };
    expect(proveBlock({ block: strange, receipts: right }, { chainId: UNLISTED })).toMatchObject({
      kind: "proven",
      odd: [{ part: "header hash" }, { part: "places" }],
    });
    const proof = proveBlock({ block: strange, receipts: right }, { chainId: 314 });
    expect(proof).toMatchObject({ kind: "proven", unproven: ["header hash"] });
  });

  it("has no bloom of its logs on chains of their own hash", () => {
    const ones = `0x${"ff".repeat(256)}`;
    const strange = { ...block, hash: word("9"), logsBloom: ones };
    const receipts = right.map((receipt) => ({ ...receipt, logsBloom: ones }));
    for (const chainId of [314, UNLISTED]) {
      const odd = partsThatAre(proveBlock({ block: strange, receipts }, { chainId }), "odd");
      expect(odd).not.toContain("logs bloom");
    }
  });
});
