// The sample activity that keeps a development network busy, and the sample calls for callers to try.

import type { Logger } from "pino";
import { DAY_MS } from "../../../src/lib/calendar.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { RpcCaller } from "../../../src/upstream/connection/connect.ts";

/** A call whose result shows something of the node. */
export type SampleCall = { title: string; method: string; params: readonly unknown[] };

/** Contracts and events that were put on a node, and sample calls for them. */
export type Stage = {
  readonly samples: readonly SampleCall[];
  readonly pauseMs: number;
  /** False when the node has lost the contracts: a restarted node may be empty. */
  stands(): Promise<boolean>;
  /** Sends one more transaction; `count` decides which. */
  act(count: number): Promise<void>;
};

/** Puts the contracts on a node. Throws while the node does not answer. */
export type SetStage = (
  options: { signal: AbortSignal },
  parts: { node: RpcCaller; clock: Clock },
) => Promise<Stage>;

const RETRY_MS = 100;
/** Activity is fast while somebody is likely to watch, then slow: nodes keep their whole history. */
const LIVELY_MS = 3_600_000;
const SLOW_PAUSE_MS = 10_000;
const SLOWEST_PAUSE_MS = 60_000;

export function pauseMsAt(stage: Pick<Stage, "pauseMs">, ageMs: number): number {
  if (ageMs < LIVELY_MS) return stage.pauseMs;
  return ageMs < DAY_MS ? SLOW_PAUSE_MS : SLOWEST_PAUSE_MS;
}

/** Sets the stage and acts on it until the signal aborts. Calls `ready` each time that it has set the stage. */
export async function keepActive(
  options: {
    setStage: SetStage;
    signal: AbortSignal;
    ready: (samples: readonly SampleCall[]) => void;
  },
  parts: { node: RpcCaller; clock: Clock; log: Pick<Logger, "debug"> },
): Promise<void> {
  const { setStage, signal, ready } = options;
  const { clock, log } = parts;
  let current: { stage: Stage; setAt: number } | undefined;
  for (let count = 0; !signal.aborted; count += 1) {
    try {
      if (await current?.stage.stands()) await current?.stage.act(count);
      else {
        const stage = await setStage({ signal }, parts);
        current = { stage, setAt: clock.now() };
        ready(stage.samples);
      }
    } catch (error) {
      if (!signal.aborted) log.debug({ err: error }, "sample activity pauses");
    }
    const pauseMs = current ? pauseMsAt(current.stage, clock.now() - current.setAt) : RETRY_MS;
    await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
}
