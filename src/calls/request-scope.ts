// What one HTTP request has: a deadline, a caller that may go away, and bytes that wait in memory for it.
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";

/** Made once: an abort without a reason makes an exception with a stack, for every answered call. */
const TIME_IS_UP = new Error("the deadline of the request has passed");
const ENDED = new Error("the request has ended");

export type RequestScopeParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "isOver" | "next">;
};

export class RequestScope {
  /** Made only when somebody waits for an upstream: most answers need no signal. */
  #controller: AbortController | undefined;
  #cancelDeadline: (() => void) | undefined;
  /** By the clock's `now`. */
  #deadlineAt: number | undefined;
  #hasEnded = false;
  /** How many of its calls were none, or not allowed. */
  refused = 0;
  /** Called when it is known whether the answer left. */
  #onSent: ((wasSent: boolean) => void)[] | undefined;
  #holder: MemoryHolder | undefined;
  /** What waits for this request, in bytes: its body, parts of its answer, and the answer. */
  #bodies = 0;
  #building = 0;
  #unsent = 0;
  readonly #deadlineMs: number;
  readonly #parts: RequestScopeParts;

  constructor(options: { deadlineMs: number }, parts: RequestScopeParts) {
    this.#deadlineMs = options.deadlineMs;
    this.#parts = parts;
  }

  /** The one signal of this request, from the server to the socket. The deadline starts with its first use. */
  signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      this.#startDeadline(this.#controller);
    }
    return this.#controller.signal;
  }

  /** A part of the answer was taken: there is as much time again for the next. */
  restartDeadline(): void {
    if (!this.#controller || this.#hasEnded) return;
    this.#cancelDeadline?.();
    this.#startDeadline(this.#controller);
  }

  /** From now on it is this key that bytes wait for. None may wait yet. */
  holdFor(holder: MemoryHolder): void {
    this.#holder = holder;
  }

  /** How long somebody waits for the answer from now on, in milliseconds. */
  get remainingMs(): number {
    const isRunning = this.#deadlineAt !== undefined && !this.#hasEnded;
    return isRunning ? (this.#deadlineAt ?? 0) - this.#parts.clock.now() : this.#deadlineMs;
  }

  /** Nobody waits for an answer any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls `task` once: when the answer was handed to the network, or when it never will be. */
  onSent(task: (wasSent: boolean) => void): void {
    this.#onSent ??= [];
    if (this.#hasEnded) task(false);
    else this.#onSent.push(task);
  }

  /**
   * Counts bytes that wait for this request, until they are released or the request ends.
   *
   * @param bytes Negative: so many less.
   */
  hold(kind: "bodies" | "building" | "unsent", bytes: number): void {
    if (this.#hasEnded) return;
    if (kind === "bodies") this.#bodies += bytes;
    else if (kind === "building") this.#building += bytes;
    else this.#unsent += bytes;
    this.#parts.memory.hold(kind, bytes, this.#holder);
  }

  /** The request is answered, or its caller has gone: whatever still works for it stops. */
  end(wasSent: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#releaseAll();
    for (const task of this.#onSent ?? []) task(wasSent);
    this.#cancelDeadline?.();
    if (this.#controller) this.#abandon(this.#controller, wasSent);
  }

  /** Many calls may wait for a caller who leaves, and many callers leave at once: nothing is in a hurry then. */
  #abandon(controller: AbortController, wasSent: boolean): void {
    const { turns } = this.#parts;
    if (wasSent || !turns.isOver) controller.abort(ENDED);
    else void turns.next().then(() => controller.abort(ENDED));
  }

  #startDeadline(controller: AbortController): void {
    const { clock } = this.#parts;
    this.#deadlineAt = clock.now() + this.#deadlineMs;
    this.#cancelDeadline = clock.after(this.#deadlineMs, () => controller.abort(TIME_IS_UP));
  }

  #releaseAll(): void {
    const { memory } = this.#parts;
    memory.release("bodies", this.#bodies, this.#holder);
    if (this.#building !== 0) memory.release("building", this.#building, this.#holder);
    memory.release("unsent", this.#unsent, this.#holder);
  }
}
