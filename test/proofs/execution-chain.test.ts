import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headerHash } from "../../src/proofs/check-header.ts";
import type { BlockParts } from "../../src/proofs/prove-block.ts";
import { proveBlock } from "../support/at-once.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { fetchBlock } from "./fetch-block.ts";

describe.skipIf(!executionChainAvailable)("the chain of execution-apis", () => {
  let chain: ExecutionChain;
  const blocks: BlockParts[] = [];

  beforeAll(async () => {
    chain = await startExecutionChain();
    for (let number = 0; number <= chain.headNumber; number += 1)
      blocks.push(await fetchBlock(chain.url, number));
  });
  afterAll(() => chain.close());

  it.each([1337, 424_242])(
    "is proven whole, every block of it, on a chain that is listed and on one that is not: %i",
    (chainId) => {
      expect(blocks).toHaveLength(55);
      expect(blocks.map((parts) => proveBlock(parts, { chainId }))).toEqual(
        blocks.map(() => ({ kind: "proven", unproven: [], odd: [] })),
      );
    },
  );

  it("has headers of all forks, each with its hash", () => {
    expect(blocks.map(({ block }) => headerHash(block))).toEqual(chain.blockHashes);
  });

  it("leaves to be proven what was not fetched", () => {
    for (const { block } of blocks) {
      const hasUncles = (block["uncles"] as readonly string[]).length > 0;
      expect(proveBlock({ block }, { chainId: 1337 })).toEqual({
        kind: "proven",
        unproven: ["receipts root", "logs bloom", ...(hasUncles ? ["uncles hash"] : [])],
        odd: [],
      });
    }
  });
});
