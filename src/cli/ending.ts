// How a gateway ends: what it is told first drains it, and whatever happens then, it ends within its time.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";

/** What is known of a gateway once it serves. */
export type Ended = {
  /** Running calls end, then everything is closed. */
  stop(): Promise<void>;
  /** Whatever processes it started end at once. */
  kill(): void;
  /** How long running calls are given. */
  drainMs(): number;
};

export type EndingParts = {
  readonly log: Logger;
  readonly clock: Pick<Clock, "now" | "after">;
  /** Ends this process. */
  readonly end: (code: number) => void;
};

/**
 * A terminal and a process manager signal all processes of a group, and npm passes on what it gets: within so
 * many milliseconds of the first signal, another one says the same.
 */
const SAME_WITHIN_MS = 1_000;
/** For closing everything after the running calls. */
const GRACE_MS = 4_500;

export class ProcessEnding {
  #begunAt: number | undefined;
  #hasEnded = false;
  #gateway: Ended | undefined;
  readonly #parts: EndingParts;

  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#begunAt !== undefined;
  }

  /** The gateway has started. */
  serves(gateway: Ended): void {
    this.#gateway = gateway;
  }

  /** Somebody wants it to end: the first time in order, the second time at once. */
  signalled(signal: string): void {
    if (this.#begunAt === undefined) this.begin(signal);
    else if (this.#parts.clock.now() - this.#begunAt >= SAME_WITHIN_MS)
      this.#endAtOnce(`${signal}, a second time`);
  }

  /** Ends in order, once. @param why A signal, or what became of who started this process. */
  begin(why: string): void {
    const { log, clock, end } = this.#parts;
    if (this.#begunAt !== undefined) return;
    this.#begunAt = clock.now();
    const gateway = this.#gateway;
    if (!gateway) {
      log.info({ why }, "ended before it listened");
      end(0);
      return;
    }
    const drainMs = gateway.drainMs();
    log.info({ why, withinMs: drainMs }, "draining: running calls end, nobody new is let in");
    clock.after(drainMs + GRACE_MS, () => this.#endAtOnce("it did not end within its time"));
    gateway.stop().then(
      () => this.#end(0),
      (error: unknown) => {
        log.error({ err: error }, "the gateway could not be closed in order");
        this.#end(1);
      },
    );
  }

  #end(code: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { log, clock, end } = this.#parts;
    log.info({ tookMs: Math.round(clock.now() - (this.#begunAt ?? 0)) }, "ended");
    end(code);
  }

  #endAtOnce(why: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { log, end } = this.#parts;
    log.warn({ why }, "ended at once");
    this.#gateway?.kill();
    end(1);
  }
}
