// Traces derived from geth's tracers: the same in every method, whichever tracers a node has.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { read } from "../../support/ask.ts";
import { atDepth } from "../../support/depth.ts";
import { callCases } from "./call-cases.ts";
import type { Case } from "./case.ts";
import { isAnvilHere } from "./chain.ts";
import { delegationCases } from "./delegation-cases.ts";
import { type ExpectedTrace, expectedTraces, withoutMethod } from "./expected-traces.ts";
import { failingCases } from "./failing-cases.ts";
import { type GethNode, startGethNode } from "./geth-node.ts";
import { stateCases } from "./state-cases.ts";
import {
  startGatewayOver,
  startWatchedChain,
  type Watched,
  type WatchedChain,
} from "./watched-chain.ts";

const TRANSFER = "a transfer";
const STOPPER = "a contract that only stops";

const creating = (name: string, init: string, rest: object = {}): Case => ({
  name,
  transaction: { data: init, ...rest },
});

const all: readonly Case[] = [
  creating("init code that pays a precompile", "0x6000600060006000600160045af15000", {
    value: "0xa",
  }),
  creating("init code that gives a precompile no gas", "0x6000600060006000600060046000f15000"),
  creating("init code that leaves a contract", "0x63600160005260046000f3"),
  {
    name: "more paid for data than for execution (EIP-7623)",
    transaction: { to: "0x".padEnd(42, "b"), data: `0x${"01".repeat(500)}` },
  },
  // Not at the top with data that the sender pays for: there no answer tells the precompile's gas.
  ...callCases.filter(({ name }) => /precompile(?! at the top)/.test(name)),
  ...callCases.filter(({ name }) => name === TRANSFER || name === STOPPER),
  ...failingCases.filter(({ name }) => /STATICCALL/.test(name)),
  ...stateCases,
  ...delegationCases,
];

/** These cases run always; every third of the others is enough to find a general mistake. */
const isAlwaysTried = ({ name }: Case): boolean => [TRANSFER, STOPPER, "a refund"].includes(name);
const cases = atDepth(
  all.filter((one, index) => isAlwaysTried(one) || index % 3 === 0),
  all,
);

type Replay = {
  readonly trace: readonly ExpectedTrace[];
  readonly vmTrace: { readonly ops: readonly { readonly ex: { used: number } | null }[] } | null;
};
type Gateway = Awaited<ReturnType<typeof startGatewayOver>>;

describe.skipIf(!isAnvilHere)("traces over geth's tracers (skipped: there is no anvil)", () => {
  let chain: WatchedChain;

  beforeAll(async () => {
    chain = await startWatchedChain(cases);
  }, 180_000);

  afterAll(() => chain.close());

  describe.each([
    { which: "all of them", lacks: [], isExact: true },
    { which: "no callTracer", lacks: ["callTracer"], isExact: true },
    { which: "none in JavaScript", lacks: ["js"], isExact: false },
  ])("with $which", ({ lacks, isExact }) => {
    let node: GethNode;
    let gateway: Gateway;
    let url: string;

    beforeAll(async () => {
      node = await startGethNode(chain, lacks);
      gateway = await startGatewayOver(node.url);
      url = gateway.endpoint("main");
    });

    afterAll(async () => {
      await gateway.stop();
      await node.close();
    });

    const ofEach = async (look: (watched: Watched) => Promise<void>): Promise<void> => {
      for (const watched of chain.byName.values()) await look(watched);
    };
    const expected = ({ truth }: Watched): unknown => {
      const [top, ...below] = expectedTraces(truth.top);
      return isExact ? [top, ...below] : [withoutGas(top), ...below];
    };
    const told = ([top, ...below]: readonly ExpectedTrace[]): unknown => {
      const traces = [top, ...below].map((trace) => withoutMethod(withoutPlace(trace)));
      return isExact ? traces : [withoutGas(traces[0]), ...traces.slice(1)];
    };

    it("every method tells the same, and what happened", async () => {
      await ofEach(async (watched) => {
        const { hash, name, block } = watched;
        const want = expected(watched);
        const own = await read<ExpectedTrace[]>(url, "trace_transaction", hash);
        const ofBlock = await read<ExpectedTrace[]>(url, "trace_block", block["number"]);
        const replay = await read<Replay>(url, "trace_replayTransaction", hash, ["trace"]);
        expect.soft(told(own), `trace_transaction of ${name}`).toEqual(want);
        if (!lacks.includes("callTracer"))
          expect.soft(told(ofBlock), `trace_block of ${name}`).toEqual(want);
        expect.soft(told(replay.trace), `trace_replayTransaction of ${name}`).toEqual(want);
        for (const trace of own) {
          const path = trace.traceAddress.map((step) => `0x${step.toString(16)}`);
          expect.soft(await read(url, "trace_get", hash, path), name).toEqual(trace);
        }
      });
    });

    it("a trace and its vmTrace never contradict each other", async () => {
      await ofEach(async ({ hash, name }) => {
        // First one by one: traces that the gateway keeps must agree as well.
        await read(url, "trace_transaction", hash);
        await read(url, "trace_replayTransaction", hash, ["vmTrace"]);
        const types = ["trace", "vmTrace"];
        const { trace, vmTrace } = await read<Replay>(url, "trace_replayTransaction", hash, types);
        const [top] = trace;
        const used = vmTrace?.ops.at(-1)?.ex?.used;
        if (!top?.result || top.type === "create" || used === undefined) return;
        const left = Number(top.action["gas"]) - Number(top.result["gasUsed"]);
        expect.soft(left, name).toBe(used);
      });
    });
  });

  it("asks for the gas of transactions that paid for a step", async () => {
    const node = await startGethNode(chain);
    const gateway = await startGatewayOver(node.url);
    const trace = (name: string) =>
      read(gateway.endpoint("main"), "trace_transaction", chain.byName.get(name)?.hash);
    try {
      for (const name of ["a refund", TRANSFER, STOPPER]) await trace(name);
      expect(node.asked.filter((one) => one.endsWith(" js"))).toHaveLength(1);
    } finally {
      await gateway.stop();
      await node.close();
    }
  });
});

const withoutPlace = (trace: ExpectedTrace | undefined): ExpectedTrace => {
  const { action, error, result, subtraces, traceAddress, type } = trace as ExpectedTrace;
  const outcome = error === undefined ? { result: result ?? null } : { error };
  return { action, ...outcome, subtraces, traceAddress, type };
};

const withoutGas = (trace: unknown) => {
  const { result, ...rest } = trace as ExpectedTrace;
  return { ...rest, ...(result && { result: { ...result, gasUsed: "" } }) };
};
