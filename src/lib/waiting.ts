// Waiting that ends: when time is up, or when a signal aborts. How long to wait before what ended is begun again. And for
// much work, of which so much is done at once.

import { Cancellation, type Signal } from "./cancellation.ts";
import type { Clock } from "./clock.ts";

/** Why it aborted when time was up. Made once: an error has a stack. */
export const TOO_LATE = new Error("time is up");
const NO_LONGER_AWAITED = new Error("no longer waited for");

/**
 * A signal that ends with another one, or when time is up.
 *
 * @returns The signal, and what frees the timer: to be called when the work is done.
 */
export function deadline(
  ms: number,
  outer: Signal,
  clock: Pick<Clock, "after">,
): { readonly signal: Signal; readonly done: () => void } {
  const signal = new Cancellation();
  const end = (): void => signal.abort(outer.reason);
  if (outer.aborted) end();
  const cancel = clock.after(ms, () => signal.abort(TOO_LATE));
  outer.addEventListener("abort", end, { once: true });
  const done = (): void => {
    cancel();
    outer.removeEventListener("abort", end);
  };
  return { signal, done };
}

/** What the work gives; undefined when it takes longer, or the signal ends the waiting. The work goes on. */
export async function within<Value>(
  ms: number,
  work: Promise<Value>,
  { clock, signal }: { readonly clock: Pick<Clock, "sleep">; readonly signal?: Signal },
): Promise<Value | undefined> {
  const timeout = new Cancellation();
  const end = (): void => timeout.abort(NO_LONGER_AWAITED);
  const nothing = (): undefined => undefined;
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([work, clock.sleep(ms, timeout).then(nothing, nothing)]);
  } finally {
    end();
    signal?.removeEventListener("abort", end);
  }
}

/** What the promise gives, or what `why` makes, thrown, when the signal aborts first. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: Signal,
  why: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why());
    // In any case, so that what comes too late is nobody's unhandled rejection.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** Does the task after each pause until the signal aborts. A task that fails is done again after the next pause. */
export async function repeat(
  everyMs: number,
  task: () => Promise<void>,
  { clock, signal }: { readonly clock: Pick<Clock, "sleep">; readonly signal: Signal },
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(everyMs, signal).catch(() => undefined);
    if (!signal.aborted) await task().catch(() => undefined);
  }
}

/** Whatever lived so long is begun again at once; else there is a pause, twice as long each time, in milliseconds. */
const STEADY_AFTER_MS = 5_000;
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 5_000;

/** How long to wait before something that ended is begun again. */
export class Restarts {
  /** Times in a row that it ended soon. */
  #shortLives = 0;

  /** It ended: 0 the first time; longer and longer for what ends again and again. */
  restMs(livedMs: number): number {
    this.#shortLives = livedMs < STEADY_AFTER_MS ? this.#shortLives + 1 : 0;
    if (this.#shortLives <= 1) return 0;
    return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (this.#shortLives - 2));
  }
}

/** The results of all, in order, of so many at once; the first failure is the whole's, and ends the rest. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await work(items[index] as Item);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
