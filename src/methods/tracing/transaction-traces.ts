// The traces of a mined transaction with their places, as trace_transaction and trace_get give them.
import type { Trace, TracePosition } from "../../traces/call-tree.ts";
import { tracesOfFlat } from "../../traces/flat-traces.ts";
import type { CallContext } from "../method.ts";
import { placed, placeIn, treeSources } from "./call-trees.ts";
import { withExecutedGas } from "./executed-gas.ts";
import { keepParts, keptParts } from "./kept-parts.ts";
import { findMined, type MinedPosition } from "./mined-transaction.ts";
import { askSource, firstOf, type Source } from "./sources.ts";

type PlacedTraces = readonly (Trace & TracePosition)[];

/** undefined when the transaction is unknown, or waits. @throws RpcError -32601 when no node can trace. */
export async function tracesOf(
  hash: string,
  context: CallContext,
): Promise<PlacedTraces | undefined> {
  const lowerHash = hash.toLowerCase();
  let refusal: Error | undefined;
  if (!context.chain) {
    // Where nothing is followed, the place is what the node says of it.
    const own = await askSource(ownTraces, lowerHash, context);
    if (own.kind === "told") return placed(own.value.traces, lowerHash, own.value.place);
    if (own.kind === "refused") refusal = own.error;
  }
  const mined = await findMined(lowerHash, context).catch((error: unknown) => {
    throw refusal ?? error;
  });
  if (!mined && refusal) throw refusal;
  if (!mined) return undefined;
  const kept = keptParts(mined, ["trace"], context)?.trace;
  if (kept) return placed(JSON.parse(String(kept)) as readonly Trace[], lowerHash, mined);
  const tree = await firstOf(treeSources, mined, context);
  const { traces, output } = await withExecutedGas(tree, mined, context);
  const parts = { trace: JSON.stringify(traces) };
  keepParts(
    mined,
    output === undefined ? parts : { ...parts, output: JSON.stringify(output) },
    context,
  );
  context.setProvenance({ source: "upstream", block: mined.block, proof: "none" });
  return placed(traces, lowerHash, mined);
}

const ownTraces: Source<string, { traces: readonly Trace[]; place: MinedPosition }> = {
  name: "trace_transaction",
  method: "trace_transaction",
  params: (hash) => [hash],
  read: (result) => {
    const traces = tracesOfFlat(result);
    const place = placeIn(result);
    return traces && place && { traces, place };
  },
};
