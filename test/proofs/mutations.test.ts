import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "../../src/proofs/json.ts";
import type { BlockParts, Proof } from "../../src/proofs/prove-block.ts";
import { proveBlock } from "../support/at-once.ts";
import { atDepth } from "../support/depth.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { besuChainAvailable, executeBesuChain, LAST_EXECUTED } from "./besu-chain.ts";
import { fetchBlock } from "./fetch-block.ts";
import {
  another,
  leavesOf,
  OPTIONAL,
  type Path,
  patternOf,
  UNCOVERED,
  withLeaf,
} from "./mutations.ts";

const prove = (parts: BlockParts): Proof => proveBlock(parts, { chainId: 1337 });

/** Larger blocks are left out: a test would only copy their long logs. */
const MOST_BYTES = 40_000;

describe.skipIf(!(executionChainAvailable && besuChainAvailable))("a proven block", () => {
  let chain: ExecutionChain;
  let blocks: { parts: BlockParts; leaves: Path[] }[];

  beforeAll(async () => {
    chain = await startExecutionChain();
    const numbers = Array.from({ length: chain.headNumber + 1 }, (_, number) => number);
    const fetched = await Promise.all(numbers.map((number) => fetchBlock(chain.url, number)));
    const ofBesu = (await executeBesuChain())
      .slice(0, LAST_EXECUTED + 1)
      .map(({ withTransactions, receipts, uncles }) => ({
        block: withTransactions,
        receipts,
        uncles,
      }));
    blocks = [...fetched, ...ofBesu]
      .filter((parts) => JSON.stringify(parts).length < MOST_BYTES)
      .map((parts) => ({ parts, leaves: leavesOf(parts) }));
  });
  afterAll(() => chain.close());

  it("fails when any leaf of it says something else, but for what nothing covers", () => {
    const unnoticed = new Set<string>();
    const noticed = new Set<string>();
    for (const { parts, leaves } of blocks)
      for (const path of leaves) {
        const { kind } = prove(withLeaf(parts, path, another));
        (kind === "failed" ? noticed : unnoticed).add(patternOf(path));
      }
    expect([...unnoticed].filter((pattern) => !UNCOVERED.has(pattern))).toEqual([]);
    expect(noticed.size).toBeGreaterThan(90);
  });

  it("is not proven whole with garbage in any leaf, and never throws", () => {
    const garbage = fc.oneof(
      fc.constantFrom(null, undefined, 0, -1, true, "", "0x", "0x0", "0X1", "0xzz", [], {}, [null]),
      fc.constantFrom(`0x${"f".repeat(100_000)}`, "0xıı", { toString: 1, valueOf: 1 }),
      fc.jsonValue(),
    );
    const anyLeaf = fc.nat().chain((block) => {
      const { parts, leaves } = blocks[block % blocks.length] ?? {
        parts: { block: {} },
        leaves: [],
      };
      return fc
        .nat(Math.max(0, leaves.length - 1))
        .map((leaf) => ({ parts, path: leaves[leaf] ?? [] }));
    });
    fc.assert(
      fc.property(anyLeaf, garbage, ({ parts, path }, value) => {
        const mutant = withLeaf(parts, path, () => value);
        fc.pre(!saysTheSame(parts, mutant, path));
        const proof = prove(mutant);
        const isProven = proof.kind === "proven" && proof.unproven.length === 0;
        const mayBe = UNCOVERED.has(patternOf(path)) || OPTIONAL.has(patternOf(path));
        expect(
          isProven && !mayBe,
          `${patternOf(path)} as ${JSON.stringify(value)?.slice(0, 99)}`,
        ).toBe(false);
      }),
      { numRuns: atDepth(500, 3_000) },
    );
  });

  it.each<{ what: string; part: string; change: (parts: BlockParts) => BlockParts }>([
    {
      what: "logs are gone and the bloom still tells of them",
      part: "logs bloom",
      change: ({ block, receipts = [] }) => ({
        block: { ...block, receiptsRoot: block["receiptsRoot"] },
        receipts: receipts.map((receipt) => ({ ...receipt, logs: [] })),
      }),
    },
    {
      what: "a receipt is missing",
      part: "receipts root",
      change: ({ block, receipts = [] }) => ({ block, receipts: receipts.slice(1) }),
    },
    {
      what: "a transaction is missing",
      part: "transactions root",
      change: ({ block, receipts = [] }) => ({
        block: { ...block, transactions: (block["transactions"] as unknown[]).slice(1) },
        receipts,
      }),
    },
    {
      what: "the withdrawals are missing",
      part: "withdrawals root",
      change: ({ block, receipts = [] }) => ({
        block: { ...block, withdrawals: undefined },
        receipts,
      }),
    },
    {
      what: "an uncle is invented",
      part: "uncles hash",
      change: ({ block, receipts = [] }) => ({
        block: { ...block, uncles: [block["parentHash"]] },
        receipts,
      }),
    },
  ])("fails where $what", ({ what, part, change }) => {
    // Withdrawals that are missing are proven to be none where the root is that of an empty list.
    const isEmpty = (list: unknown): boolean => (list as unknown[]).length === 0;
    const whole = blocks.findLast(({ parts: { block, receipts = [] } }) =>
      part === "withdrawals root"
        ? "withdrawals" in block && !isEmpty(block["withdrawals"])
        : "withdrawalsRoot" in block && receipts.some(({ logs }) => !isEmpty(logs)),
    );
    expect(whole, what).toBeDefined();
    const proof = prove(change(whole?.parts ?? { block: {} }));
    const parts = part === "logs bloom" ? [part, "receipts root"] : [part];
    expect(proof).toEqual({
      kind: "failed",
      part: expect.toSatisfy((one) => parts.includes(one)),
      reason: expect.any(String),
    });
  });

  it("cannot tell who sent a transaction where receipts agree on it", () => {
    const isCall = ({ to }: { to?: unknown }): boolean => typeof to === "string";
    const found = blocks.find(({ parts }) => (parts.block["transactions"] as Json[]).some(isCall));
    const { block, receipts = [], uncles = [] } = found?.parts ?? { block: {} };
    const from = `0x${"22".repeat(20)}`;
    const transactions = (block["transactions"] as Json[]).map((one) => ({ ...one, from }));
    const forged = {
      block: { ...block, transactions },
      receipts: receipts.map((receipt) => ({ ...receipt, from, contractAddress: null })),
      uncles,
    };
    expect(prove(forged)).toEqual({ kind: "proven", unproven: [], odd: [] });
  });
});

/** Whether the mutation left the value as it was; a missing member counts as null. */
function saysTheSame(before: BlockParts, after: BlockParts, path: Path): boolean {
  const [old, now] = [before, after].map((parts) =>
    path.reduce<unknown>((owner, name) => (owner as Record<string | number, unknown>)[name], parts),
  );
  return old === now || ((old ?? null) === null && (now ?? null) === null);
}
