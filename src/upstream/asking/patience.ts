// Calls that wait until some node can be asked: a little while, and not too many of them.
import type { Clock } from "../../lib/clock.ts";

export type PatienceOptions = {
  /** From the moment on at which nobody was left, in milliseconds. */
  readonly ms: number;
  /** Also when that moment is long gone: a node may be back with the next look. */
  readonly leastMs: number;
  readonly mostWaiting: number;
};

export class Patience {
  readonly #waiting = new Set<() => void>();
  /** When nobody was left. */
  #since: number | undefined;
  readonly #options: PatienceOptions;
  readonly #clock: Pick<Clock, "now" | "after">;

  constructor(options: PatienceOptions, parts: { clock: Pick<Clock, "now" | "after"> }) {
    this.#options = options;
    this.#clock = parts.clock;
  }

  /** Resolves when somebody is there, when patience or the signal ends; at once when too many wait. */
  wait(signal: AbortSignal): Promise<void> {
    const { ms, leastMs, mostWaiting } = this.#options;
    if (this.#waiting.size >= mostWaiting) return Promise.resolve();
    const now = this.#clock.now();
    this.#since ??= now;
    const waitMs = Math.max(leastMs, this.#since + ms - now);
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, done);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(done);
    });
  }

  /** Somebody can be asked. */
  end(): void {
    this.#since = undefined;
    for (const done of [...this.#waiting]) done();
  }
}
