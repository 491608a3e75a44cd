// geth's own vectors: the gateway must turn the output of one tracer into that of another one for the same
// transaction, or into the changes that ethereumjs recorded.
import { parityDiff } from "../parity-diff.ts";
import { callFrame } from "./call-frame.ts";
import { type ChainBlock, chainAnswers, hex } from "./chain.ts";
import type { ExecutedTransaction } from "./executions.ts";
import { type Case, gethCases, source } from "./geth-cases.ts";
import type { Answer, Entry, Golden, Json, Scenario, World } from "./golden.ts";
import {
  aboutBlock,
  aboutPositionedTraces,
  aboutReplay,
  type Origin,
  recorded,
} from "./questions.ts";
import { wantedTraces } from "./wanted.ts";

const byTransaction = {
  method: "debug_traceTransaction",
  of: ({ transactions: [transaction] }: ChainBlock): unknown => transaction?.hash,
};
const byHash = { method: "debug_traceBlockByHash", of: ({ hash }: ChainBlock): unknown => hash };
const byNumber = {
  method: "debug_traceBlockByNumber",
  of: ({ number }: ChainBlock): unknown => hex(number),
};

/** The nodes: each has one method with one tracer, whose vectors are in the tracer's folder. */
const nodes = {
  flat: { ...byTransaction, tracer: "call_tracer_flat", options: { tracer: "flatCallTracer" } },
  tree: { ...byTransaction, tracer: "call_tracer", options: { tracer: "callTracer" } },
  "tree-by-hash": { ...byHash, tracer: "call_tracer", options: { tracer: "callTracer" } },
  "tree-by-number": { ...byNumber, tracer: "call_tracer", options: { tracer: "callTracer" } },
  diff: {
    ...byTransaction,
    tracer: "prestate_tracer_with_diff_mode",
    options: { tracer: "prestateTracer", tracerConfig: { diffMode: true } },
  },
};
type Node = (typeof nodes)[keyof typeof nodes];

export async function gethVectors(): Promise<Scenario> {
  const cases = await gethCases();
  const chainIds = [...new Set(cases.map(({ chainId }) => chainId))];
  const worlds: World[] = [];
  const goldens: Golden[] = [];
  for (const [kind, node] of Object.entries(nodes))
    for (const chainId of chainIds) {
      const world = `geth-${kind}-${chainId}`;
      const own = cases.filter(
        (one) => one.chainId === chainId && node.tracer in one.resultByTracer,
      );
      if (own.length === 0) continue;
      const chain = chainAnswers(own.map(({ block }) => block));
      const answers = [...chain, ...own.flatMap((one) => answersOf(one, node))];
      worlds.push({ name: world, chainId, answers });
      goldens.push(
        ...own.flatMap((one) => {
          const origin = { source, mode: "derivation", world, name: one.name } as const;
          return kind === "diff" ? aboutChanges(origin, one) : aboutCalls(origin, one);
        }),
      );
    }
  return { worlds, goldens };
}

function answersOf({ block, executed, resultByTracer }: Case, node: Node): readonly Answer[] {
  const { method, of, tracer, options } = node;
  const result = resultByTracer[tracer];
  const txHash = byTransaction.of(block);
  const isBlock = method !== byTransaction.method;
  const told = {
    method,
    params: [of(block), options],
    result: isBlock ? [{ txHash, result }] : result,
  };
  // The prestateTracer does not tell the output of the call.
  const { options: tree } = nodes.tree;
  const called = { method, params: [of(block), tree], result: callFrame(executed) };
  return options.tracer === "prestateTracer" ? [told, called] : [told];
}

function aboutChanges(origin: Origin, { block, executed }: Case): readonly Golden[] {
  const { before, after, top } = executed;
  const stateDiff = JSON.parse(JSON.stringify(parityDiff(before, after))) as Json;
  const hash = String(byTransaction.of(block));
  const parts = { output: top.output, stateDiff };
  return [
    ...aboutReplay(origin, hash, parts),
    ...aboutBlock(origin, hex(block.number), [{ hash, ...parts }]),
  ];
}

function aboutCalls(origin: Origin, { block, executed, resultByTracer }: Case): readonly Golden[] {
  const hash = String(byTransaction.of(block));
  const { number: blockNumber, hash: blockHash } = block;
  const position = { blockHash, blockNumber, transactionHash: hash, transactionPosition: 0 };
  const flat = wantedTraces(resultByTracer["call_tracer_flat"] as readonly Entry[]);
  const traces = flat.map((trace, at) => (at === 0 ? asExecuted(trace, executed) : trace));
  const parts = { output: executed.top.output, trace: traces };
  const want = traces.map((trace) => ({ ...trace, ...position }));
  return [
    ...aboutPositionedTraces(origin, { hash, position, traces }),
    ...aboutReplay(origin, hash, parts),
    ...recorded(origin, { method: "trace_block", params: [hex(blockNumber)], want }),
    ...aboutBlock(origin, hex(blockNumber), [{ hash, ...parts }]),
  ];
}

/** OpenEthereum's gas excludes the intrinsic gas, and does not subtract refunds. */
function asExecuted(trace: Entry, { top }: ExecutedTransaction): Entry {
  const used = { gasUsed: hex(top.gasUsed) };
  return {
    ...trace,
    action: { ...trace.action, gas: hex(top.gas) },
    ...(trace.result && { result: { ...trace.result, ...used } }),
  };
}
