// A node with the chain of an anvil and the tracers of geth: their output is what ethereumjs saw, in geth's words.
// Tracers in JavaScript, the prestate and steps are anvil's own.
import { createTxFromRLP } from "@ethereumjs/tx";
import { hexToBytes } from "@ethereumjs/util";
import { type PassingNode, startPassingNode } from "../../support/passing-node.ts";
import { failure, missing, type NodeCall, result } from "../../support/scripted-node.ts";
import { callFrame } from "../goldens/call-frame.ts";
import type { Json } from "../goldens/golden.ts";
import { common } from "./chain.ts";
import { type FlatConfig, flatOf } from "./geth-flat.ts";
import type { Watched, WatchedChain } from "./watched-chain.ts";

export type GethNode = PassingNode & {
  /** "debug_traceTransaction callTracer", once for each call. */
  readonly asked: readonly string[];
};

type Tracing = { readonly tracer?: string; readonly tracerConfig?: FlatConfig };

/** @param lacks The tracers that the node lacks; "js" stands for all tracers in JavaScript. */
export async function startGethNode(
  chain: WatchedChain,
  lacks: readonly string[] = [],
): Promise<GethNode> {
  const asked: string[] = [];
  const node = await startPassingNode(chain.url, (call) => {
    const { tracer = "steps", tracerConfig } = Object(call.params[1]) as Tracing;
    const name = tracer.startsWith("{") ? "js" : tracer;
    if (call.method.startsWith("trace_")) return missing(call);
    if (!call.method.startsWith("debug_")) return undefined;
    asked.push(`${call.method} ${name}`);
    if (lacks.includes(name)) return failure(call, '{"code":-32000,"message":"tracer not found"}');
    const told = toldOf(chain, call, { tracer, ...(tracerConfig && { tracerConfig }) });
    return told === undefined ? undefined : result(call, JSON.stringify(told));
  });
  return { ...node, asked };
}

/** The tracer's output; undefined where anvil answers. */
function toldOf({ byName }: WatchedChain, call: NodeCall, tracing: Tracing): unknown {
  const [subject] = call.params;
  const all = [...byName.values()];
  if (call.method === "debug_traceTransaction") {
    const watched = all.find(({ hash }) => hash === subject);
    return watched && treeOf(watched, tracing);
  }
  // Each transaction is alone in its block.
  const watched = all.find(({ block }) => block["hash"] === subject);
  const told = watched && treeOf(watched, tracing);
  return told && [{ txHash: watched.hash, result: told }];
}

function treeOf({ truth, raw, receipt }: Watched, { tracer, tracerConfig }: Tracing): unknown {
  const transaction = createTxFromRLP(hexToBytes(raw), { common });
  const frame: Json = callFrame({ top: truth.top, transaction, gasUsed: BigInt(receipt.gasUsed) });
  if (tracer === "callTracer") return frame;
  return tracer === "flatCallTracer" ? flatOf(frame, tracerConfig) : undefined;
}
