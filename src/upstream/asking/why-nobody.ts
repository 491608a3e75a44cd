// What a caller is told when no node gave an answer.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";

/** @param seen What became of the tries. */
export function whyNobody(seen: readonly Reply["kind"][], method: string): RpcError {
  const are = (...kinds: Reply["kind"][]): boolean => seen.every((kind) => kinds.includes(kind));
  if (seen.length === 0) return errors.noUpstream();
  if (are("missing")) return errors.methodNotFound(method);
  if (are("timeout", "missing")) return errors.upstreamTimeout();
  if (are("busy", "missing")) return errors.upstreamsLimited();
  return errors.upstreamsFailed();
}
