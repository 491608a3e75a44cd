// The traces that the gateway derives over anvil, compared with ethereumjs's execution of the same transactions over
// the same states.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { read } from "../../support/ask.ts";
import { atDepth } from "../../support/depth.ts";
import { parityDiff } from "../parity-diff.ts";
import { casesWith } from "./cases.ts";
import { isAnvilHere } from "./chain.ts";
import { type Deviation, whyNot } from "./deviations.ts";
import { type ExpectedTrace, expectedTraces, withoutMethod } from "./expected-traces.ts";
import { expectReplay, type VmTrace } from "./vm-trace-replay.ts";
import {
  startGatewayOver,
  startWatchedChain,
  type Watched,
  type WatchedChain,
} from "./watched-chain.ts";

type Replay = {
  readonly output: string;
  readonly stateDiff: Readonly<Record<string, { balance: { "*": { from: string; to: string } } }>>;
  readonly trace: readonly ExpectedTrace[];
  readonly vmTrace: VmTrace;
};
type Located = ExpectedTrace & Readonly<Record<string, unknown>>;

const cases = casesWith(atDepth(8, 60));
const names = cases.map(({ name }) => name);

describe.skipIf(!isAnvilHere)("traces over anvil (skipped: there is no anvil)", () => {
  let chain: WatchedChain;
  let gateway: Awaited<ReturnType<typeof startGatewayOver>>;
  let url: string;

  beforeAll(async () => {
    chain = await startWatchedChain(cases);
    gateway = await startGatewayOver(chain.url);
    url = gateway.endpoint("main");
  }, 180_000);

  afterAll(async () => {
    await gateway.stop();
    chain.close();
  });

  const watched = (name: string): Watched => {
    const found = chain.byName.get(name);
    if (!found) throw new Error(`"${name}" is not on the chain`);
    return found;
  };
  const replay = (name: string, ...types: string[]): Promise<Replay> =>
    read(url, "trace_replayTransaction", watched(name).hash, types);
  const located = (name: string): Promise<readonly Located[]> =>
    read(url, "trace_transaction", watched(name).hash);

  it("are of transactions that changed nothing else in the state", async () => {
    const differing = await chain.differing();
    expect(differing.filter((address) => !systemContracts.includes(address))).toEqual([]);
  });

  describe.each(names)("%s", (name) => {
    /** For a known deviation the test must fail, so that it reports when anvil becomes right. */
    const itIfTold = (part: Deviation["part"]) =>
      whyNot(name, part) === undefined ? it : it.fails;

    it("happened in ethereumjs as in anvil", () => {
      const { truth, receipt, before, after } = watched(name);
      const { execResult, totalGasSpent } = truth.outcome;
      expect(totalGasSpent).toBe(BigInt(receipt.gasUsed));
      expect(execResult.exceptionError === undefined).toBe(receipt.status === "0x1");
      const { recorded } = truth;
      expect(parityDiff(recorded.before, recorded.after)).toEqual(parityDiff(before, after));
    });

    itIfTold("trace")("has the trace of its call tree", async () => {
      const { truth } = watched(name);
      const { trace, output, stateDiff, vmTrace } = await replay(name, "trace");
      expect(trace.map(withoutMethod)).toEqual(expectedTraces(truth.top));
      expect(output).toBe(truth.top.output);
      expect({ stateDiff, vmTrace }).toEqual({ stateDiff: null, vmTrace: null });
    });

    itIfTold("trace")("has each trace at its place", async () => {
      const { hash, block, truth } = watched(name);
      const place = {
        blockHash: block["hash"],
        blockNumber: Number(block["number"]),
        transactionHash: hash,
        transactionPosition: 0,
      };
      const traces = await located(name);
      const wanted = expectedTraces(truth.top).map((trace) => ({ ...trace, ...place }));
      expect(traces.map(withoutMethod)).toEqual(wanted);
    });

    itIfTold("stateDiff")("has the state diff of the states before and after", async () => {
      const { before, after } = watched(name);
      const { stateDiff } = await replay(name, "stateDiff");
      expect(stateDiff).toEqual(parityDiff(before, after));
    });

    it("has a vmTrace that replays what the machine did", async () => {
      const { vmTrace } = await replay(name, "vmTrace");
      expectReplay(vmTrace, watched(name).truth.top);
    });

    it("has by trace_get what trace_transaction has at each path", async () => {
      const traces = await located(name);
      const at = (path: readonly number[]) =>
        read(url, "trace_get", watched(name).hash, path.map(toHex));
      for (const trace of traces) {
        expect(await at(trace.traceAddress)).toEqual(trace);
        expect(await at([...trace.traceAddress, trace.subtraces])).toBeNull();
      }
    });

    it("takes its value and its fee from its sender", async () => {
      const { receipt, transaction } = watched(name);
      const { stateDiff } = await replay(name, "stateDiff");
      const { from, to } = stateDiff[receipt.from]?.balance["*"] ?? { from: 0, to: 0 };
      const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
      const value = receipt.status === "0x1" ? BigInt(String(transaction["value"] ?? 0)) : 0n;
      expect(BigInt(from) - BigInt(to)).toBe(fee + value);
    });
  });
});

/** Contracts that each block itself writes to (EIP-2935, EIP-4788). */
const systemContracts = [
  "0x0000f90827f1c53a10cb7a02335b175320002935",
  "0x000f3df6d732807ef1319fb7b8bb8522d0beac02",
];

const toHex = (index: number): string => `0x${index.toString(16)}`;
