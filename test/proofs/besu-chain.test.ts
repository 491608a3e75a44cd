import { beforeAll, describe, expect, it } from "vitest";
import type { BlockParts } from "../../src/proofs/prove-block.ts";
import { proveBlock } from "../support/at-once.ts";
import { besuChainAvailable, executeBesuChain, LAST_EXECUTED } from "./besu-chain.ts";

describe.skipIf(!besuChainAvailable)("the chain of Besu's tests", () => {
  let blocks: BlockParts[];

  beforeAll(async () => {
    const shaped = await executeBesuChain();
    blocks = shaped.map(({ number, withTransactions: block, receipts, uncles }) =>
      number <= LAST_EXECUTED ? { block, receipts, uncles } : { block, uncles },
    );
  });

  it("is proven whole up to London, with receipts that have state roots", () => {
    const executed = blocks.slice(0, LAST_EXECUTED + 1);
    expect(executed.map((parts) => proveBlock(parts, { chainId: 1337 }))).toEqual(
      executed.map(() => ({ kind: "proven", unproven: [], odd: [] })),
    );
    expect(executed.flatMap(({ receipts = [] }) => receipts).every((one) => "root" in one)).toBe(
      true,
    );
  });

  it("is proven but for receipts after that, up to the blob transaction at its end", () => {
    const later = blocks.slice(LAST_EXECUTED + 1);
    expect(later.map((parts) => proveBlock(parts, { chainId: 1337 }))).toEqual(
      later.map(() => ({ kind: "proven", unproven: ["receipts root", "logs bloom"], odd: [] })),
    );
    expect(later.at(-1)?.block["transactions"]).toEqual([expect.objectContaining({ type: "0x3" })]);
  });

  it("has a block with two uncles, unproven where they were not fetched", () => {
    const [parts] = blocks.filter((one) => one.uncles?.length === 2);
    const { block, receipts = [], uncles = [] } = parts ?? { block: {} };
    expect(proveBlock({ block, receipts }, { chainId: 1337 })).toEqual({
      kind: "proven",
      unproven: ["uncles hash"],
      odd: [],
    });
    expect(
      proveBlock({ block, receipts, uncles: uncles.toReversed() }, { chainId: 1337 }),
    ).toMatchObject({
      kind: "failed",
      part: "uncles hash",
    });
  });
});
