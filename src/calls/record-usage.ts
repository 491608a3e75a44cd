// Adds an answered call to the usage of its key.
import { type AnswerJson, lengthOf } from "../jsonrpc/raw-json.ts";
import type { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Call } from "./call.ts";
import type { LifeParts } from "./life-of-a-call.ts";

/** The server's refusals of a call: the key may not make it, or not now. What a node refuses has no such status. */
const REFUSED: readonly number[] = [403, 429];

/** @param answer What the caller is sent for this call, and the error in it. */
export function recordUsage(
  call: Call,
  answer: { readonly pieces: readonly AnswerJson[]; readonly error?: RpcError | undefined },
  { metrics }: Pick<LifeParts, "metrics">,
): void {
  const { pieces, error } = answer;
  const { name: network } = call.network;
  const isRefused = error !== undefined && REFUSED.includes(error.status);
  // Who is told of an error would have been told it by a node, and asked again: nothing was saved.
  const saved = error ? undefined : call.saving;
  if (saved !== undefined) metrics.callSaved(network, saved);
  call.caller.grant.usage.record({
    network,
    method: call.label,
    computeUnits: call.computeUnits,
    bytes: lengthOf(pieces),
    requestBytes: call.message.json.length,
    outcome: isRefused ? "refused" : error ? "error" : "ok",
    saved,
    upstreamCalls: call.upstreamCalls,
  });
}
