// A RedisState as the gateway opens it, with its log.
import { state as stateSetting } from "../../src/config/state-settings.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { RedisState } from "../../src/state/redis-state.ts";
import { stopwatch } from "./served-time.ts";

export type SharedState = {
  readonly state: RedisState;
  /** Each line with its reason, in order. */
  readonly log: readonly string[];
  /** The reported changes of its reachability, in order. */
  readonly told: readonly boolean[];
};

export async function openShared(url: string): Promise<SharedState> {
  const log: string[] = [];
  const told: boolean[] = [];
  const write = (first: unknown, text?: string): void => {
    log.push(text === undefined ? String(first) : `${text} ${JSON.stringify(first)}`);
  };
  const state = new RedisState(stateSetting.parse(url), {
    clock: systemClock,
    log: { info: write, warn: write },
    onChange: (isReachable) => told.push(isReachable),
  });
  await state.start();
  return { state, log, told };
}

/** The outcome of a call, and the time that this thread had for it, in milliseconds. */
export async function timed<Value>(
  call: Promise<Value>,
): Promise<{ value?: Value; error?: Error; ms: number }> {
  const ms = stopwatch();
  return call.then(
    (value) => ({ value, ms: ms() }),
    (error: Error) => ({ error, ms: ms() }),
  );
}
