// What a caller is told when no node gave an answer.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";

/**
 * @param seen What became of the tries.
 * @param call.waitMs How long its turn would have taken at the nodes where too much waits.
 */
export function whyNobody(
  seen: readonly Reply["kind"][],
  { method, waitMs = 0 }: { readonly method: string; readonly waitMs?: number },
): RpcError {
  const are = (...kinds: Reply["kind"][]): boolean => seen.every((kind) => kinds.includes(kind));
  if (seen.length === 0) return errors.noUpstream();
  if (are("missing")) return errors.methodNotFound(method);
  if (are("timeout", "missing")) return errors.upstreamTimeout();
  if (are("busy", "missing")) return errors.upstreamsLimited();
  if (are("occupied", "busy", "missing"))
    return errors.upstreamsOccupied(Math.max(1, Math.ceil(waitMs / 1000)));
  return errors.upstreamsFailed();
}
