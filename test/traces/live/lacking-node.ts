// A proxy before a node that lacks some of the node's methods.
import { type PassingNode, startPassingNode } from "../../support/passing-node.ts";
import { missing, type NodeCall } from "../../support/scripted-node.ts";

export type LackingNode = PassingNode & {
  /** The calls that were passed on. */
  readonly asked: ReadonlySet<string>;
};

export async function startLackingNode(url: string, lacks: RegExp): Promise<LackingNode> {
  const asked = new Set<string>();
  const node = await startPassingNode(url, (call) => {
    if (lacks.test(String(call.method))) return missing(call);
    asked.add(whatOf(call));
    return undefined;
  });
  return { ...node, asked };
}

/** The method, with the tracer if there is one: "debug_traceTransaction callTracer". */
function whatOf({ method, params }: NodeCall): string {
  const { tracer } = Object(params[1]) as { tracer?: unknown };
  return [method, tracer].filter(Boolean).join(" ");
}
