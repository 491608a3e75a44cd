import { expect, it } from "vitest";
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { CallContext } from "../method.ts";
import { tracesOfBlock } from "./block-traces.ts";
import { treeSources } from "./call-trees.ts";
import type { MinedBlock, MinedTransaction } from "./mined.ts";
import { askSource } from "./sources.ts";

const hashOf = (digit: string): string => `0x${digit.repeat(64)}`;
const position = (digit: string) => ({ number: 5, hash: hashOf(digit) });
const transactionIn = (digit: string): MinedTransaction => ({
  ...{ block: position(digit), index: 0, hash: hashOf("1"), json: {}, intrinsicGas: undefined },
});
const blockOf = (digit: string): MinedBlock => ({
  ...{ position: position(digit), transactions: [transactionIn(digit)], gasLimit: "0x1" },
});
const trace = {
  action: {
    from: hashOf("2").slice(0, 42),
    to: hashOf("3").slice(0, 42),
    callType: "call",
    gas: "0x0",
    input: "0x",
    value: "0x0",
  },
  ...{ blockHash: hashOf("a"), blockNumber: 5, transactionHash: hashOf("1") },
  ...{ result: { gasUsed: "0x0", output: "0x" }, subtraces: 0, traceAddress: [] },
  ...{ transactionPosition: 0, type: "call" },
};

/** The context of calls that share one answer of a node, which has no other traces. */
function sharing(): CallContext {
  const shared = Buffer.from(JSON.stringify([trace]));
  const ask = async (method: string): Promise<Buffer> => {
    if (!/^trace_(block|transaction)$/.test(method)) throw errors.methodNotFound(method);
    return shared;
  };
  const others = { setProvenance: () => undefined, isMissing: () => false };
  return { ask, ...others } as unknown as CallContext;
}

it.each([["ab"], ["ba"]])(
  "traces that callers share are held against the block of each: %s",
  async (order) => {
    const context = sharing();
    for (const digit of order) {
      const traces = await tracesOfBlock(blockOf(digit), context).catch(() => "no node has them");
      expect([digit, traces]).toEqual([digit, digit === "a" ? [trace] : "no node has them"]);
    }
  },
);

it.each([["ab"], ["ba"]])(
  "and so are those of a transaction that two branches have: %s",
  async (order) => {
    const context = sharing();
    const [source] = treeSources;
    for (const digit of order) {
      const answer = source && (await askSource(source, transactionIn(digit), context));
      expect([digit, answer?.kind]).toEqual([digit, digit === "a" ? "result" : "missing"]);
    }
  },
);
