// Whether the shared state can be reached: told when it changes, once each time.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";

export type ReachabilityParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onChange?: ((isReachable: boolean) => void) | undefined;
};

/** So long must nothing fail before it counts as back: one node of several may fail while others answer. */
const QUIET_MS = 1000;

export class Reachability {
  readonly #probe: () => Promise<unknown>;
  readonly #parts: ReachabilityParts;
  /** undefined: nothing is known yet. */
  #isReachable: boolean | undefined;
  #failedAtMs = 0;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;

  /** @param probe Resolves when the state can be read and written. */
  constructor(probe: () => Promise<unknown>, parts: ReachabilityParts) {
    this.#probe = probe;
    this.#parts = parts;
  }

  /** It was reached, for the first time. Later on a probe tells. */
  reached(): void {
    if (this.#isReachable !== undefined) return;
    this.#isReachable = true;
    this.#parts.onChange?.(true);
  }

  /** @param reason What is logged of it: no address, no password. */
  failed(reason: string): void {
    this.#failedAtMs = this.#parts.clock.now();
    if (this.#isReachable === false || this.#isClosed) return;
    this.#isReachable = false;
    this.#parts.onChange?.(false);
    this.#parts.log.warn(
      { reason },
      "the shared state cannot be reached: known keys go on, limits are kept by local shares, filters wait",
    );
    this.#probeIn(QUIET_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelProbe?.();
  }

  #probeIn(ms: number): void {
    if (this.#isClosed) return;
    this.#cancelProbe = this.#parts.clock.after(ms, () => {
      const waitMs = this.#failedAtMs + QUIET_MS - this.#parts.clock.now();
      if (waitMs > 0) this.#probeIn(waitMs);
      else void this.#probe().then(this.#comeBack, () => this.#probeIn(QUIET_MS));
    });
  }

  readonly #comeBack = (): void => {
    if (this.#isClosed) return;
    this.#isReachable = true;
    this.#parts.onChange?.(true);
    this.#parts.log.info("the shared state can be reached again");
  };
}
