// Waiting with a timeout or a signal; the replies, the heartbeat and the restarts of another process or thread; and many
// tasks, a few at a time.

import { Cancellation, type Signal } from "./cancellation.ts";
import type { Clock } from "./clock.ts";

/** The reason of an abort by a timeout. Made once, since an error with its stack is costly. */
export const TIMED_OUT = new Error("time is up");
const NO_LONGER_AWAITED = new Error("no longer waited for");

/** A signal that aborts with `outer`, or after `ms` milliseconds. `done` clears the timer when the work has ended. */
export function deadline(
  ms: number,
  outer: Signal,
  clock: Pick<Clock, "after">,
): { readonly signal: Signal; readonly done: () => void } {
  const signal = new Cancellation();
  const end = (): void => signal.abort(outer.reason);
  if (outer.aborted) end();
  const cancel = clock.after(ms, () => signal.abort(TIMED_OUT));
  outer.addEventListener("abort", end, { once: true });
  const done = (): void => {
    cancel();
    outer.removeEventListener("abort", end);
  };
  return { signal, done };
}

/** The result of the work; undefined when `ms` milliseconds pass or the signal aborts first. The work itself goes on. */
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

/**
 * The values of the promises, in order; undefined for a promise that rejects or takes too long. The function waits
 * `longestMs` at most for a first value, and from then on `afterFirstMs` for the others.
 */
export async function soon<Value>(
  work: readonly Promise<Value | undefined>[],
  times: { readonly afterFirstMs: number; readonly longestMs: number },
  parts: { readonly clock: Pick<Clock, "sleep"> },
): Promise<(Value | undefined)[]> {
  const given = new Array<Value | undefined>(work.length).fill(undefined);
  const { promise: hasFirst, resolve: first } = Promise.withResolvers<void>();
  const all = Promise.allSettled(
    work.map(async (each, index) => {
      given[index] = await each;
      if (given[index] !== undefined) first();
    }),
  );
  await within(times.longestMs, Promise.race([hasFirst, all]), parts);
  if (given.some((each) => each !== undefined)) await within(times.afterFirstMs, all, parts);
  return [...given];
}

/** The value of the promise. @throws The error that `why` makes, when the signal aborts first. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: Signal,
  why: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why());
    // The promise gets its handlers in any case, so that a late rejection is not an unhandled rejection.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** Does the task after each pause of `everyMs` until the signal aborts. A failure of the task is ignored. */
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

export type PeriodicTimerParts = {
  readonly clock: Pick<Clock, "after">;
  readonly everyMs: () => number;
  /** The last round returns false. */
  readonly round: () => unknown;
};

/** A timer that calls `round` after each pause, until `round` returns false. */
export class PeriodicTimer {
  #cancel: (() => void) | undefined;
  #hasStopped = false;
  readonly #parts: PeriodicTimerParts;

  constructor(parts: PeriodicTimerParts) {
    this.#parts = parts;
  }

  /** Has no effect while a round is due, or after `stop`. */
  begin(): void {
    if (this.#hasStopped) return;
    const { clock, everyMs, round } = this.#parts;
    this.#cancel ??= clock.after(everyMs(), () => {
      this.#cancel = undefined;
      if (round() !== false) this.begin();
    });
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#hasStopped = true;
    this.#cancel?.();
  }
}

/** In milliseconds. A process that lived this long restarts at once; others after a pause, which doubles each time. */
const STEADY_AFTER_MS = 5_000;
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 5_000;

/** The pauses before the restarts of a process or a thread. */
export class RestartBackoff {
  /** How often in a row the process ended before `STEADY_AFTER_MS`. */
  #shortLives = 0;

  /** The pause after an end, in ms: 0 after a long life or the first short one, longer after each further short one. */
  restMs(livedMs: number): number {
    this.#shortLives = livedMs < STEADY_AFTER_MS ? this.#shortLives + 1 : 0;
    if (this.#shortLives <= 1) return 0;
    return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (this.#shortLives - 2));
  }
}

/** The time from one heartbeat to the next, in milliseconds. */
export const HEARTBEAT_MS = 500;
/** The extra time before the first heartbeat, in milliseconds: a process or thread loads its program first. */
const BEGINNING_MS = 20_000;

export type HeartbeatParts = {
  /** The longest time without a heartbeat, in milliseconds. */
  readonly silenceMs: () => number;
  /** Called once, when the process or thread hangs. */
  readonly onHang: (silentMs: number) => void;
  /** The number of heartbeats since its last call; undefined where the owner calls `beat` for each heartbeat. */
  readonly takeBeats?: () => number;
  readonly clock: Pick<Clock, "after">;
};

/** Tells by its heartbeats whether a process or thread hangs; made when the process or thread begins. */
export class Heartbeat {
  /** Counts missed heartbeats instead of time: no heartbeat is due while this thread itself stands still. */
  #missed = -BEGINNING_MS / HEARTBEAT_MS;
  #hasHung = false;
  readonly #timer: PeriodicTimer;
  readonly #parts: HeartbeatParts;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
    const { clock } = parts;
    this.#timer = new PeriodicTimer({
      clock,
      everyMs: () => HEARTBEAT_MS,
      round: () => this.#look(),
    });
    this.#timer.begin();
  }

  get hasHung(): boolean {
    return this.#hasHung;
  }

  /** Whether a heartbeat came lately, or the process has just begun. */
  get isAlive(): boolean {
    return this.#silentMs < this.#parts.silenceMs();
  }

  beat(): void {
    this.#missed = 0;
  }

  stop(): void {
    this.#timer.stop();
  }

  get #silentMs(): number {
    return this.#missed * HEARTBEAT_MS;
  }

  #look(): void {
    const { takeBeats, onHang } = this.#parts;
    this.#missed += 1;
    if (takeBeats && takeBeats() > 0) this.beat();
    if (!this.#hasHung && !this.isAlive) {
      this.#hasHung = true;
      onHang(this.#silentMs);
    }
  }
}

/** Requests that this process sends as messages. The reply is another message, with the id of its request. */
export class PendingReplies<Reply> {
  #lastId = 0;
  readonly #settleById = new Map<number, (reply: Reply) => void>();

  /** @param timeout Settles the request with `reply` when no reply comes within `ms` milliseconds. */
  begin(timeout?: {
    readonly ms: number;
    readonly reply: Reply;
    readonly clock: Pick<Clock, "after">;
  }): { readonly id: number; readonly reply: Promise<Reply> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const cancel = timeout?.clock.after(timeout.ms, () => this.settle(id, timeout.reply));
    this.#settleById.set(id, (reply) => {
      cancel?.();
      resolve(reply);
    });
    return { id, reply: promise };
  }

  /** Has no effect for a request that is settled already. */
  settle(id: number, reply: Reply): void {
    this.#settleById.get(id)?.(reply);
    this.#settleById.delete(id);
  }

  /** Settles all requests with the same reply. */
  settleAll(reply: Reply): void {
    for (const id of [...this.#settleById.keys()]) this.settle(id, reply);
  }
}

/** The results of the work on all items, in order; `atOnce` items are under way at a time. A failure ends the rest. */
export async function mapConcurrently<Item, Result>(
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
