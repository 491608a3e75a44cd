// The time and attention one HTTP request has: a deadline, and a caller who may go away.
import type { Clock } from "../lib/clock.ts";

/** Made once: an abort without a reason makes an exception with a stack, for every answered call. */
const TIME_IS_UP = new Error("the deadline of the request has passed");
const ENDED = new Error("the request has ended");

export class RequestScope {
  /** Made only when somebody waits for an upstream: most answers need no signal. */
  #controller: AbortController | undefined;
  #cancelDeadline: (() => void) | undefined;
  #hasEnded = false;
  /** Who wants to know whether the answer left. */
  #onSent: ((wasSent: boolean) => void)[] | undefined;
  readonly #deadlineMs: number;
  readonly #clock: Pick<Clock, "after">;

  constructor(options: { deadlineMs: number }, parts: { clock: Pick<Clock, "after"> }) {
    this.#deadlineMs = options.deadlineMs;
    this.#clock = parts.clock;
  }

  /** The one signal of this request, from the door to the socket. The deadline starts with its first use. */
  signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#cancelDeadline = this.#clock.after(this.#deadlineMs, () =>
        controller.abort(TIME_IS_UP),
      );
    }
    return this.#controller.signal;
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

  /** The request is answered, or its caller has gone: whatever still works for it stops. */
  end(wasSent: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const task of this.#onSent ?? []) task(wasSent);
    this.#cancelDeadline?.();
    this.#controller?.abort(ENDED);
  }
}
