// The few differences from recorded answers that docs/traces.md describes.
import type { Entry, Json } from "./golden.ts";

/** A failed call has an error in OpenEthereum's words and no result. */
function wantedTrace({ error, result, ...rest }: Entry): Entry {
  if (typeof error !== "string") return { ...rest, result: result ?? null };
  return { ...rest, error: openEthereumWords[error] ?? error };
}

export const wantedTraces = (traces: readonly Entry[]): readonly Entry[] => traces.map(wantedTrace);

/** The error texts in these files that are not OpenEthereum's. */
const openEthereumWords: Readonly<Record<string, string>> = {
  "execution reverted": "Reverted",
  "out of gas": "Out of gas",
  "contract creation code storage out of gas": "Out of gas",
  "invalid jump destination": "Bad jump destination",
  "invalid opcode: INVALID": "Bad instruction",
};

type Operation = Json & { readonly sub?: VmTrace | null };
type VmTrace = Json & { readonly ops: readonly Operation[] };

/** Erigon adds `idx` and `op` to every operation. */
const wantedVmTrace = (vmTrace: VmTrace): VmTrace => ({
  ...vmTrace,
  ops: vmTrace.ops.map(({ idx, op, ...operation }) => ({
    ...operation,
    sub: operation.sub ? wantedVmTrace(operation.sub) : (operation.sub ?? null),
  })),
});

type Replay = Json & { readonly trace?: readonly Entry[] };

export const wantedReplay = (replay: Replay): Json => ({
  ...replay,
  trace: wantedTraces(replay.trace ?? []),
  vmTrace: replay["vmTrace"] ? wantedVmTrace(replay["vmTrace"] as VmTrace) : null,
  stateDiff: replay["stateDiff"] ?? null,
});

/** The expected result of any of the methods. */
export function wantedResult(method: string, result: unknown): unknown {
  if (result === null) return null;
  switch (method) {
    case "trace_get":
      return wantedTrace(result as Entry);
    case "trace_replayTransaction":
      return wantedReplay(result as Replay);
    case "trace_replayBlockTransactions":
      return (result as Replay[]).map(wantedReplay);
    default:
      return wantedTraces(result as Entry[]);
  }
}
