// Code that waits or reads the time takes a Clock as a parameter, so that no test sleeps.

import type { Signal } from "./cancellation.ts";

export type Clock = {
  /** Milliseconds since some fixed moment, for durations; the value never decreases. */
  now(): number;
  /** Milliseconds since 1970, as people and chains tell the time. */
  wallTime(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when the signal aborts first. */
  sleep(ms: number, signal?: Signal): Promise<void>;
  /** Lets all other work run that is ready. Long work calls `yield` now and then. */
  yield(): Promise<void>;
  /** Runs `task` once after `ms` milliseconds, unless the returned function is called before. */
  after(ms: number, task: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) throw signal.reason;
      const abort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", abort, { once: true });
    }),
  yield: () => new Promise((resolve) => setImmediate(resolve)),
  after: (ms, task) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};
