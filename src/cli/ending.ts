// Ends the process of a gateway. A signal drains the gateway, and the process ends in time even if the gateway hangs.
// After an unexpected error the process may replace itself.
import type { Logger } from "pino";
import type { Environment } from "../config/setting-names.ts";
import type { Gateway } from "../gateway.ts";
import type { Clock } from "../lib/clock.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";
import {
  endProcess,
  type Life,
  nextRow,
  type Replaced,
  replacedAfterMs,
  replacedIn,
  replaceProcess,
} from "../processes/end-process.ts";

/** The parts of a gateway that end it. */
type Ended = Pick<Gateway, "stop" | "kill" | "drainMs">;

export type EndingParts = {
  readonly log: Logger;
  readonly clock: Pick<Clock, "now" | "after">;
  /** Ends this process. */
  readonly end: (code: number) => void;
};

/**
 * A terminal and a process manager signal all processes of a group, and npm passes signals on. So a further signal within
 * this time of the first one means the same.
 */
const SAME_WITHIN_MS = 1_000;
/** The time to close all parts after the running calls have ended. */
const GRACE_MS = 4_500;
/**
 * The time for a start that is under way to end, so that its stores can be closed in order. Several processes take about
 * a second to start on an idle machine. A second signal ends them at once.
 */
const STARTING_MS = 5_000;

export class ProcessEnding {
  #begun: { readonly at: number; readonly why: string } | undefined;
  #hasEnded = false;
  #hasStores = false;
  #gateway: Ended | undefined;
  readonly #parts: EndingParts;

  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#begun !== undefined;
  }

  /** To be called before stores are opened. The next start checks a store that was left open for longer. */
  opens(): void {
    this.#hasStores = true;
  }

  /** To be called when the gateway has started. */
  serves(gateway: Ended): void {
    this.#gateway = gateway;
    if (this.#begun && !this.#hasEnded) this.#stop(gateway, this.#begun.why);
  }

  /** To be called for a signal: the first one ends the process in order, a second one at once. */
  signalled(signal: string): void {
    if (this.#begun === undefined) this.begin(signal);
    else if (this.#parts.clock.now() - this.#begun.at >= SAME_WITHIN_MS)
      this.#endAtOnce(`${signal} came a second time`);
  }

  /** Ends the process in order. Only the first call has an effect. @param why The signal or the reason, for the log. */
  begin(why: string): void {
    const { clock } = this.#parts;
    if (this.#begun) return;
    this.#begun = { at: clock.now(), why };
    if (this.#gateway) this.#stop(this.#gateway, why);
    else if (this.#hasStores) clock.after(STARTING_MS, () => this.#endUnserved(why));
    else this.#endUnserved(why);
  }

  #endUnserved(why: string): void {
    if (this.#hasEnded || this.#gateway) return;
    this.#hasEnded = true;
    const { log, end } = this.#parts;
    log.info({ why }, "the gateway ended before it listened");
    end(0);
  }

  #stop(gateway: Ended, why: string): void {
    const { log, clock } = this.#parts;
    const drainMs = gateway.drainMs();
    log.info(
      { why, withinMs: drainMs },
      "draining: running calls are completed, and no new callers are let in",
    );
    clock.after(drainMs + GRACE_MS, () => this.#endAtOnce("the gateway did not end in time"));
    gateway.stop(why).then(
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
    log.info({ tookMs: Math.round(clock.now() - (this.#begun?.at ?? 0)) }, "ended");
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

/** Replaces this process after an unexpected error, where no process manager would start it again. */
export class ProcessReplacement {
  readonly #earlier: Replaced;
  /** The unexpected errors, those of the replaced processes included. */
  readonly #errors: Record<UnexpectedKind, number>;
  #isReplacing = false;
  readonly #startedAt: number;
  readonly #environment: Environment;
  readonly #clock: Pick<Clock, "now">;

  constructor(environment: Environment, { clock }: { clock: Pick<Clock, "now"> }) {
    this.#environment = environment;
    this.#earlier = replacedIn(environment);
    const { rejections: rejection, exceptions: exception } = this.#earlier;
    this.#errors = { rejection, exception };
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Adds the errors of replaced processes to the gateway's metrics. */
  tellOfEarlier(served: Pick<Gateway, "unexpected">): void {
    served.unexpected("rejection", this.#earlier.rejections);
    served.unexpected("exception", this.#earlier.exceptions);
  }

  /** Counts an unexpected error. @returns After how many milliseconds the process must end to be replaced; undefined: never. */
  count(kind: UnexpectedKind): number | undefined {
    this.#errors[kind] += 1;
    return replacedAfterMs(kind, this.#life);
  }

  /** To be called when the process begins to end, to be replaced. */
  begin(): void {
    this.#isReplacing = true;
  }

  /** To be called for a signal: cancels a replacement. @returns Whether the process was about to be replaced. */
  callOff(): boolean {
    const wasReplacing = this.#isReplacing;
    this.#isReplacing = false;
    return wasReplacing;
  }

  /** Ends or replaces the process, after all parts are closed. */
  end(code: number): never {
    if (!this.#isReplacing) return endProcess(code);
    const { rejection: rejections, exception: exceptions } = this.#errors;
    const row = nextRow(this.#life);
    return replaceProcess(this.#environment, { rejections, exceptions, row });
  }

  get #life(): Life {
    return { aliveMs: this.#clock.now() - this.#startedAt, row: this.#earlier.row };
  }
}
