// Waiting that ends, when time is up or when a signal aborts; what it takes to work with another process or thread: its
// replies, its heartbeat, and how long to wait before it is started again; and many tasks, of which some run at once.

import { Cancellation, type Signal } from "./cancellation.ts";
import type { Clock } from "./clock.ts";

/** The reason of an abort when time was up. Made once: an error has a stack. */
export const TOO_LATE = new Error("time is up");
const NO_LONGER_AWAITED = new Error("no longer waited for");

/** A signal that aborts with another one, or when time is up. @returns The signal, and what clears the timer once the work is done. */
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

/** What the work gives; undefined when it takes longer, or when the signal aborts. The work goes on. */
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
 * The values of the promises, in order; undefined for those that reject, and for those that are not waited for. All have
 * `afterFirstMs` from the first value on, and `longestMs` at most.
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

/** The value of the promise. @throws What `why` makes, when the signal aborts first. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: Signal,
  why: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why());
    // The promise is handled in any case, so that a late rejection is not an unhandled one.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** Does the task after each pause until the signal aborts. A task that fails is repeated after the next pause. */
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

export type RoundsParts = {
  readonly clock: Pick<Clock, "after">;
  readonly everyMs: () => number;
  /** @returns Whether there is another round. */
  readonly round: () => boolean;
};

/** Goes its rounds, each after a pause, while there is something to look at. */
export class Rounds {
  #cancel: (() => void) | undefined;
  #hasStopped = false;
  readonly #parts: RoundsParts;

  constructor(parts: RoundsParts) {
    this.#parts = parts;
  }

  /** Has no effect while there are rounds, or after they were stopped. */
  begin(): void {
    if (this.#hasStopped) return;
    const { clock, everyMs, round } = this.#parts;
    this.#cancel ??= clock.after(everyMs(), () => {
      this.#cancel = undefined;
      if (round()) this.begin();
    });
  }

  /** Stops for good. */
  stop(): void {
    this.#hasStopped = true;
    this.#cancel?.();
  }
}

/** A process that lived so long is started again at once; any other after a pause, which doubles each time. In milliseconds. */
const STEADY_AFTER_MS = 5_000;
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 5_000;

/** How long to wait before something that ended is begun again. */
export class Restarts {
  /** How often in a row it ended soon. */
  #shortLives = 0;

  /** How long to rest after the end: 0 at first, longer each time it ends soon. */
  restMs(livedMs: number): number {
    this.#shortLives = livedMs < STEADY_AFTER_MS ? this.#shortLives + 1 : 0;
    if (this.#shortLives <= 1) return 0;
    return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (this.#shortLives - 2));
  }
}

/** How often a heartbeat is due, in milliseconds. */
export const HEARTBEAT_MS = 500;
/** So much later the first heartbeat is due: a process or thread loads its program first. */
const BEGINNING_MS = 20_000;

export type HeartbeatParts = {
  /** How long there may be no heartbeat, in milliseconds. */
  readonly silenceMs: () => number;
  /** Called once. */
  readonly onHang: (silentMs: number) => void;
  /** How many heartbeats came since the last call; left out where `beat` is called for each. */
  readonly takeBeats?: () => number;
  readonly clock: Pick<Clock, "after">;
};

/** Whether a process or thread, which has just begun, hangs. */
export class Heartbeat {
  /** Missed heartbeats are counted, not time: while this thread itself stood still, none was due. */
  #missed = -BEGINNING_MS / HEARTBEAT_MS;
  #hasHung = false;
  readonly #rounds: Rounds;
  readonly #parts: HeartbeatParts;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
    const { clock } = parts;
    this.#rounds = new Rounds({ clock, everyMs: () => HEARTBEAT_MS, round: () => this.#look() });
    this.#rounds.begin();
  }

  get hasHung(): boolean {
    return this.#hasHung;
  }

  /** A heartbeat came lately, or the process has just begun. */
  get isAlive(): boolean {
    return this.#silentMs < this.#parts.silenceMs();
  }

  beat(): void {
    this.#missed = 0;
  }

  stop(): void {
    this.#rounds.stop();
  }

  get #silentMs(): number {
    return this.#missed * HEARTBEAT_MS;
  }

  #look(): boolean {
    const { takeBeats, onHang } = this.#parts;
    this.#missed += 1;
    if (takeBeats && takeBeats() > 0) this.beat();
    if (!this.#hasHung && !this.isAlive) {
      this.#hasHung = true;
      onHang(this.#silentMs);
    }
    return true;
  }
}

/** Requests that are sent as messages. The reply is another message, with the id of its request. */
export class PendingReplies<Reply> {
  #lastId = 0;
  readonly #settleById = new Map<number, (reply: Reply) => void>();

  /** @param timeout Settles the request with `reply` when no other reply came within `ms` milliseconds. */
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

  /** Has no effect for a request that is not waited for any more. */
  settle(id: number, reply: Reply): void {
    this.#settleById.get(id)?.(reply);
    this.#settleById.delete(id);
  }

  /** Settles all requests with the same reply. */
  settleAll(reply: Reply): void {
    for (const id of [...this.#settleById.keys()]) this.settle(id, reply);
  }
}

/** The results of the work on all items, in order; so many are worked on at once. The first failure ends the rest. */
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
