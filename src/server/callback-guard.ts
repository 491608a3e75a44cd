// Keeps what a caller does on one connection from ending the process: an exception in a callback of Node's servers, or
// of a socket that they accepted, ends that connection alone.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";

/** The event in whose callback the exception was thrown. */
export type CallbackEvent =
  | "connection"
  | "handshake"
  | "request"
  | "bytes"
  | "upgrade"
  | "connect"
  | "message"
  | "broken request"
  | "session";

export type CallbackGuardParts = {
  readonly metrics: Pick<Metrics, "callbackFailed">;
  readonly log: Pick<Logger, "error">;
  readonly clock: Pick<Clock, "now">;
};

/** A connection as far as the guard ends it. */
export type Ended = { destroy(): unknown };

const MINUTE_MS = 60_000;
/** The most exceptions in a minute that are logged with their stacks; further ones are only counted. */
const LOGGED_A_MINUTE = 10;

export class CallbackGuard {
  #logged = 0;
  #unlogged = 0;
  #minuteBeganMs = Number.NEGATIVE_INFINITY;
  readonly #parts: CallbackGuardParts;

  constructor(parts: CallbackGuardParts) {
    this.#parts = parts;
  }

  /** Ends the connection, counts the exception, and logs it with its stack, ten times a minute at most. Never throws. */
  failed(event: CallbackEvent, connection: Ended, error: unknown): void {
    try {
      connection.destroy();
    } catch {
      // The connection is what the exception left of it; its timeouts end it.
    }
    const { metrics, log, clock } = this.#parts;
    metrics.callbackFailed(event);
    const now = clock.now();
    if (now - this.#minuteBeganMs >= MINUTE_MS) {
      this.#minuteBeganMs = now;
      this.#logged = 0;
    }
    if (this.#logged >= LOGGED_A_MINUTE) {
      this.#unlogged += 1;
      return;
    }
    this.#logged += 1;
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    log.error(
      { err: error, event, unlogged },
      "a callback of the server failed: its connection was ended",
    );
  }

  /** Runs the task; `failed` hears of its exception, or of the rejection of its promise. */
  run(event: CallbackEvent, connection: Ended, task: () => unknown): void {
    try {
      const done = task();
      if (done instanceof Promise)
        done.catch((error: unknown) => this.failed(event, connection, error));
    } catch (error) {
      this.failed(event, connection, error);
    }
  }
}
