// The same transactions over nodes that lack the method that the gateway prefers: its traces from the next best method
// are the same.
import { createTxFromRLP } from "@ethereumjs/tx";
import { hexToBytes } from "@ethereumjs/util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../support/ask.ts";
import { atDepth } from "../../support/depth.ts";
import { parityDiff } from "../parity-diff.ts";
import { casesWith } from "./cases.ts";
import { common, isAnvilHere } from "./chain.ts";
import { whyNot } from "./deviations.ts";
import { type ExpectedTrace, expectedTraces, withoutMethod } from "./expected-traces.ts";
import { startLackingNode } from "./lacking-node.ts";
import {
  startGatewayOver,
  startWatchedChain,
  type Watched,
  type WatchedChain,
} from "./watched-chain.ts";

/** revm does not tell the cost of a self-destruct. */
const isTopUntold = ({ truth: { top } }: Watched): boolean => top.selfDestruct !== undefined;

const ways: readonly Way[] = [
  {
    way: "debug_traceTransaction callTracer",
    lacks: /^trace_/,
    isGasOfReceipt: isTopUntold,
    tellsWhatReverted: true,
  },
  {
    way: "debug_traceBlockByHash callTracer",
    lacks: /^trace_|^debug_traceTransaction/,
    isGasOfReceipt: isTopUntold,
    tellsWhatReverted: true,
  },
  {
    way: "trace_block",
    lacks: /^trace_(?!block)|^debug_/,
    isGasOfReceipt: () => false,
    tellsWhatReverted: false,
  },
];

const all = casesWith(atDepth(8, 60));
/** One case in three is enough in the quick run. */
const cases = atDepth(
  all.filter((_, index) => index % 3 === 0),
  all,
);

type Way = {
  readonly way: string;
  readonly lacks: RegExp;
  /**
   * Whether only a callTracer tells the gas of the top call, so that the trace has the receipt's gas: less refunds, and at
   * least the floor of EIP-7623.
   */
  readonly isGasOfReceipt: (watched: Watched) => boolean;
  /** Whether the way tells the output of a failed call: a flat trace of a failure has no result. */
  readonly tellsWhatReverted: boolean;
};

describe.skipIf(!isAnvilHere)("ways to trace over anvil (skipped: there is no anvil)", () => {
  let chain: WatchedChain;

  beforeAll(async () => {
    chain = await startWatchedChain(cases);
  }, 180_000);

  afterAll(() => chain.close());

  /** Makes calls for each case over a node that lacks these methods; returns the calls to the node. */
  async function askLacking(
    lacks: RegExp,
    look: (url: string, watched: Watched) => Promise<void>,
  ): Promise<readonly string[]> {
    const node = await startLackingNode(chain.url, lacks);
    const gateway = await startGatewayOver(node.url);
    try {
      for (const watched of chain.byName.values()) await look(gateway.endpoint("main"), watched);
      return [...node.asked];
    } finally {
      await gateway.stop();
      await node.close();
    }
  }

  it.each(ways)("$way gives the call trees", async (one) => {
    const look = (url: string, watched: Watched) => expectTree(url, watched, one);
    expect(await askLacking(one.lacks, look)).toContain(one.way);
  });

  it("debug_traceBlockByHash prestateTracer gives the state diffs", async () => {
    const asked = await askLacking(/^trace_|^debug_traceTransaction/, expectDiff);
    expect(asked).toContain("debug_traceBlockByHash prestateTracer");
  });
});

async function expectTree(url: string, watched: Watched, one: Way): Promise<void> {
  const { hash, name, truth } = watched;
  if (whyNot(name, "trace") !== undefined) return;
  const { result, error } = await ask(url, "trace_replayTransaction", [hash, ["trace"]]);
  expect.soft(error, name).toBeUndefined();
  const { trace, output } = (result ?? { trace: [], output: "" }) as ReplayReply;
  const wanted = expectedTraces(truth.top);
  expect
    .soft(trace.map(withoutMethod), name)
    .toEqual(one.isGasOfReceipt(watched) ? withGasOfReceipt(wanted, watched) : wanted);
  if (one.tellsWhatReverted || truth.top.error === undefined)
    expect.soft(output, `${name}, output`).toBe(truth.top.output);
}

async function expectDiff(url: string, { hash, name, before, after }: Watched): Promise<void> {
  if (whyNot(name, "stateDiff") !== undefined) return;
  const { result } = await ask(url, "trace_replayTransaction", [hash, ["stateDiff"]]);
  expect.soft(result, name).toMatchObject({ stateDiff: parityDiff(before, after) });
}

function withGasOfReceipt(
  [top, ...rest]: readonly ExpectedTrace[],
  { receipt, truth, raw }: Watched,
): readonly (ExpectedTrace | undefined)[] {
  if (!top?.result) return [top, ...rest];
  const { gasLimit } = createTxFromRLP(hexToBytes(raw), { common });
  const intrinsic = gasLimit - truth.top.gas;
  const used = BigInt(receipt.gasUsed) - intrinsic;
  const gasUsed = `0x${(used < 0n ? 0n : used).toString(16)}`;
  return [{ ...top, result: { ...top.result, gasUsed } }, ...rest];
}

type ReplayReply = { readonly trace: readonly ExpectedTrace[]; readonly output: string };
