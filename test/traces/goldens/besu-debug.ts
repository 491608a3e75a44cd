// Besu's chain over nodes that have only geth's tracers: the tracers' output comes from ethereumjs, and the expected
// answers are Besu's.
import { LAST_STEP_TRACER } from "../../../src/traces/gas.ts";
import { diffModeOf } from "../geth-prestate.ts";
import type { StructLog } from "../struct-log-recorder.ts";
import { aboutBlocksTransactions, type BesuBlock, besuWorld, source } from "./besu.ts";
import { aboutParts, aboutWholeBlock } from "./besu-parts.ts";
import { callFrame } from "./call-frame.ts";
import type { ExecutedTransaction } from "./executions.ts";
import type { Answer, Scenario } from "./golden.ts";

const TREE = { tracer: "callTracer" };
const LAST_STEP = { tracer: LAST_STEP_TRACER };
const DIFF = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };

export function besuByTracers(blocks: readonly BesuBlock[]): Scenario {
  const single = blocks.flatMap((block) =>
    block.executed.flatMap((executed, index) => tracersOf(executed, block, index)),
  );
  const worlds = [
    besuWorld("besu-tracers", blocks, single),
    besuWorld("besu-block-tracers", blocks, blocks.flatMap(blockTracersOf)),
  ];
  const goldens = worlds.flatMap(({ name: world }) =>
    blocks.flatMap((block) => {
      const origin = { source, mode: "derivation", world, name: `block ${block.number}` } as const;
      const parts = [...aboutParts(origin, block), ...aboutWholeBlock(origin, block)];
      const hasSteps = world === "besu-tracers";
      return [
        ...aboutBlocksTransactions(origin, block),
        ...parts.filter(({ params }) => hasSteps || !String(params).includes("vmTrace")),
      ];
    }),
  );
  return { worlds, goldens };
}

function tracersOf(
  executed: ExecutedTransaction,
  block: BesuBlock,
  index: number,
): readonly Answer[] {
  const { transaction, before, after, structLogs } = executed;
  const hash = block.transactions[index]?.hash;
  const method = "debug_traceTransaction";
  const steps = { failed: executed.top.error !== undefined, structLogs };
  return [
    { method, params: [hash, TREE], result: callFrame(executed) },
    { method, params: [hash, DIFF], result: diffModeOf(before, after) },
    { method, params: [hash, LAST_STEP], result: lastStepOf(structLogs) },
    { method, params: [hash, STEPS], result: { gas: Number(transaction.gasLimit), ...steps } },
  ];
}

/** The output of that tracer in geth: eth/tracers/js/goja.go calls it at each step. */
function lastStepOf(structLogs: readonly StructLog[]): unknown {
  const own = structLogs.filter(({ depth }) => depth === 1);
  const [first, last] = [own[0], own.at(-1)];
  if (!first || !last) return { first: null, last: null };
  const { op, gas, gasCost: cost } = last;
  return { first: first.gasCost, last: { op: HALTS[op] ?? -1, gas, cost } };
}

const HALTS: Readonly<Record<string, number>> = { STOP: 0x00, RETURN: 0xf3, SELFDESTRUCT: 0xff };

/** The options that a vmTrace needs: with memory, and with the stack. */
const STEPS = {
  enableMemory: true,
  disableMemory: false,
  disableStack: false,
  disableStorage: true,
  enableReturnData: false,
};

function blockTracersOf(block: BesuBlock): readonly Answer[] {
  const method = "debug_traceBlockByHash";
  const all = (tell: (executed: ExecutedTransaction) => unknown) =>
    block.executed.map((one, at) => ({ txHash: block.transactions[at]?.hash, result: tell(one) }));
  return [
    { method, params: [block.hash, TREE], result: all(callFrame) },
    {
      method,
      params: [block.hash, DIFF],
      result: all(({ before, after }) => diffModeOf(before, after)),
    },
    { method, params: [block.hash, LAST_STEP], result: all((one) => lastStepOf(one.structLogs)) },
  ];
}
