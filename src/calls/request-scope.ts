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

  /** The request is answered, or its caller has gone: whatever still works for it stops. */
  end(): void {
    this.#hasEnded = true;
    this.#cancelDeadline?.();
    this.#controller?.abort(ENDED);
  }
}
