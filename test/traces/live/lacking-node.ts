// A node in front of another one that does not have all of its methods.
import { type PassingNode, startPassingNode } from "../../support/passing-node.ts";
import { missing, type NodeCall } from "../../support/scripted-node.ts";

export type LackingNode = PassingNode & {
  /** What was asked of it and passed on. */
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

/** "debug_traceTransaction callTracer", where a tracer is named. */
function whatOf({ method, params }: NodeCall): string {
  const { tracer } = Object(params[1]) as { tracer?: unknown };
  return [method, tracer].filter(Boolean).join(" ");
}
