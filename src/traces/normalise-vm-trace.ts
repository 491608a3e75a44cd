// The `vmTrace` of a node's own trace_replayTransaction, without what Erigon adds to each operation.
import { isJson, type Json } from "../proofs/json.ts";

/**
 * Anything but `idx` and `op` in operations stays as it is.
 *
 * @returns undefined for what revm (reth, anvil) gives: its `used` is the gas before the operation, creations
 * have no code, and every operation writes memory, if only nothing.
 */
export function normaliseVmTrace(vmTrace: unknown): unknown {
  const top: Record<string, unknown> = { vmTrace };
  const open: [holder: Record<string, unknown>, name: string][] = [[top, "vmTrace"]];
  // A list and no recursion: a trace can be 1024 frames deep, and a node can write any number.
  for (let at = open.pop(); at; at = open.pop()) {
    const [holder, name] = at;
    const trace = holder[name];
    if (!isJson(trace) || !Array.isArray(trace["ops"])) continue;
    if (trace["ops"].some(writesNothing)) return undefined;
    const ops = trace["ops"].map(withoutExtras);
    holder[name] = { ...trace, ops };
    for (const operation of ops)
      if (isJson(operation) && operation["sub"]) open.push([operation, "sub"]);
  }
  return top["vmTrace"];
}

function withoutExtras(operation: unknown): Json | unknown {
  if (!isJson(operation)) return operation;
  const { idx, op, ...rest } = operation;
  return rest;
}

function writesNothing(operation: unknown): boolean {
  const { ex } = Object(operation) as { ex?: { mem?: { data?: unknown } | null } | null };
  return ex?.mem?.data === "0x";
}
