import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Turns } from "../lib/turns.ts";
import { BlockSource } from "./block-source.ts";
import type { AskedNode, Fetched } from "./dialect.ts";
import { Prover } from "./prover.ts";

const EMPTY_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** A block whose hash follows no encoding that is known. */
function foreignBlock(hash: string): Fetched {
  const block = {
    ...{ number: "0x7", hash, parentHash: `0x${"11".repeat(32)}`, transactions: [] },
    ...{ transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT },
  };
  const json = { block: Buffer.from(JSON.stringify(block)), receipts: Buffer.from("[]") };
  return { kind: "fetched", fetched: { json, block, receipts: [], uncles: undefined } };
}

const GIVEN = foreignBlock(`0x${"77".repeat(32)}`);
const OTHER = foreignBlock(`0x${"78".repeat(32)}`);
const FAILED: Fetched = { kind: "failed", reason: "ECONNRESET" };
const UNKNOWN: Fetched = { kind: "unknown" };

/** Nodes a, b … that answer so for block 7 of a chain of which nothing is known. */
function sourceOver(answers: readonly Fetched[], { isSettled = true } = {}) {
  const clock = new FakeClock();
  const log = pino({ level: "silent" });
  const nodes = answers.map((_, index) => ({ name: "abc"[index] }) as AskedNode);
  const prover = new Prover(
    { network: "n", mode: "available", chainId: 424_242 },
    {
      store: { note: () => undefined, setNote: async () => undefined },
      log,
      metrics: { blockProven: () => undefined },
    },
  );
  const source = new BlockSource(
    { network: "n", limits: { bytes: 1e9, transactions: 1e9, logs: 1e9 } },
    {
      dialect: { fetchBlock: async (_, node) => answers[nodes.indexOf(node)] as Fetched },
      ...{
        prover,
        clock,
        turns: new Turns({ clock }),
        log,
        metrics: { proofFailed: () => undefined, blockTooLarge: () => undefined },
      },
      allNodes: () => (isSettled ? nodes : undefined),
    },
  );
  /** What is found at once, and at each second after. */
  const foundIn = async (seconds: number): Promise<string[]> => {
    const seen: string[] = [];
    for (let second = 0; second <= seconds; second += 1) {
      const { signal } = new AbortController();
      seen.push((await source.fetch({ number: 7 }, nodes, signal)).kind);
      await clock.advance(1_000);
    }
    return seen;
  };
  return { foundIn };
}

describe("a block whose header follows no known encoding", () => {
  it.each([
    { of: "one node", answers: [GIVEN] },
    { of: "two nodes", answers: [GIVEN, GIVEN] },
  ])("is taken at once when all give it: $of", async ({ answers }) => {
    expect(await sourceOver(answers).foundIn(0)).toEqual(["found"]);
  });

  it.each([
    { other: "fails", answers: [GIVEN, FAILED] },
    { other: "does not know it", answers: [UNKNOWN, GIVEN] },
  ])("is taken after five seconds when one gives it and the other $other", async ({ answers }) => {
    const [last, ...before] = (await sourceOver(answers).foundIn(5)).reverse();
    expect(last).toBe("found");
    expect(new Set(before)).toEqual(new Set(["unproven"]));
  });

  it.each([
    { when: "nodes disagree", answers: [GIVEN, OTHER], isSettled: true },
    { when: "others are still being looked for", answers: [GIVEN], isSettled: false },
  ])("is never taken while $when", async ({ answers, isSettled }) => {
    const seen = await sourceOver(answers, { isSettled }).foundIn(12);
    expect(new Set(seen)).toEqual(new Set(["unproven"]));
  });
});
