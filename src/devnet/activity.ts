// What keeps a development network busy, and what it offers to try.
import type { Clock } from "../lib/clock.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";

/** A call that returns something interesting. */
export type SampleCall = { title: string; method: string; params: readonly unknown[] };

/** Keeps some activity going on a node until the signal; calls `ready` once, with calls to try. */
export type Activity = (
  options: { signal: AbortSignal; ready: (samples: readonly SampleCall[]) => void },
  parts: { node: RpcCaller; clock: Clock },
) => Promise<void>;
