// Time, handed over: code that waits or reads the time takes a Clock, so that no test sleeps.

import type { Signal } from "./cancellation.ts";

export type Clock = {
  /** Milliseconds since some fixed moment; never goes backwards. For durations. */
  now(): number;
  /** Milliseconds since 1970. For what people and chains call the time. */
  wallTime(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: Signal): Promise<void>;
  /** Lets all other work run that is ready. Work that takes long calls it now and then. */
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
