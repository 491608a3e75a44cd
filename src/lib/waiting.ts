// Waiting that ends: when time is up, or when a signal aborts. What it takes to work with another process or thread: its
// replies, its signs of life, and how long to wait before it is begun again. And much work, of which so much is done at once.

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

/**
 * What each of them gives, in order; undefined for those that reject, and for those that are not waited for: they have
 * `afterFirstMs` from when the first of them gave something, and `longestMs` in all.
 */
export async function soon<Value>(
  work: readonly Promise<Value | undefined>[],
  times: { readonly afterFirstMs: number; readonly longestMs: number },
  parts: { readonly clock: Pick<Clock, "sleep"> },
): Promise<(Value | undefined)[]> {
  const given = new Array<Value | undefined>(work.length).fill(undefined);
  let first: () => void = () => undefined;
  const hasFirst = new Promise<void>((resolve) => {
    first = resolve;
  });
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

/** How often a sign of life is due, in milliseconds. */
export const HEARTBEAT_MS = 500;
/** A process or thread that begins has so much more time until its first one: it loads its program. */
const BEGINNING_MS = 20_000;

export type HeartbeatParts = {
  /** How long it may be without a sign of life, in milliseconds. */
  readonly silenceMs: () => number;
  /** Told once. */
  readonly onHang: (silentMs: number) => void;
  /** How many signs of life came since this was asked last; left out where `beat` is told of each. */
  readonly takeBeats?: () => number;
  readonly clock: Pick<Clock, "after">;
};

/** Whether a process or thread that has begun just now hangs. */
export class Heartbeat {
  /** Beats are counted, not time: while this thread itself stood still, no beat was due. */
  #missed = -BEGINNING_MS / HEARTBEAT_MS;
  #hasHung = false;
  #cancel: () => void = () => undefined;
  readonly #parts: HeartbeatParts;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
    this.#lookLater();
  }

  get hasHung(): boolean {
    return this.#hasHung;
  }

  /** Whether it gave a sign of life lately, or has just begun. */
  get isAlive(): boolean {
    return this.#silentMs < this.#parts.silenceMs();
  }

  beat(): void {
    this.#missed = 0;
  }

  stop(): void {
    this.#cancel();
  }

  get #silentMs(): number {
    return this.#missed * HEARTBEAT_MS;
  }

  #lookLater(): void {
    const { clock, takeBeats, onHang } = this.#parts;
    this.#cancel = clock.after(HEARTBEAT_MS, () => {
      this.#lookLater();
      this.#missed += 1;
      if (takeBeats && takeBeats() > 0) this.beat();
      if (this.#hasHung || this.isAlive) return;
      this.#hasHung = true;
      onHang(this.#silentMs);
    });
  }
}

/** Requests that are sent as messages: each reply comes as another message, with the id of its request. */
export class PendingReplies<Reply> {
  #lastId = 0;
  readonly #settleById = new Map<number, (reply: Reply) => void>();

  /** @param timeout After `ms` milliseconds without a reply, `reply` stands for it. */
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

  /** Does nothing where nobody waits for it any more. */
  settle(id: number, reply: Reply): void {
    this.#settleById.get(id)?.(reply);
    this.#settleById.delete(id);
  }

  /** No reply comes any more: the same one stands for all. */
  settleAll(reply: Reply): void {
    for (const id of [...this.#settleById.keys()]) this.settle(id, reply);
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
