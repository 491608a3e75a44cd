// How long each method takes on a network, whichever node answers: what is slow for one is known by that.
import type { Clock } from "../../lib/clock.ts";
import { SlidingWindow } from "./sliding-window.ts";

/** Names beyond that share one measure: callers may invent some. */
const MOST_METHODS = 100;
/** So many answers tell what is usual. */
const LEAST_ANSWERS = 20;

export class MethodTimes {
  readonly #windowByMethod = new Map<string, SlidingWindow>();
  readonly #others: SlidingWindow;
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
    this.#others = new SlidingWindow(parts);
  }

  answered(method: string, ms: number): void {
    this.#windowOf(method).answered(ms);
  }

  /** undefined while too few were answered to tell. */
  p95Ms(method: string): number | undefined {
    // A name that nobody ever answered gets no window of its own.
    const { answers, p95Ms } = (this.#windowByMethod.get(method) ?? this.#others).summary();
    return answers >= LEAST_ANSWERS ? p95Ms : undefined;
  }

  #windowOf(method: string): SlidingWindow {
    const known = this.#windowByMethod.get(method);
    if (known) return known;
    if (this.#windowByMethod.size >= MOST_METHODS) return this.#others;
    const window = new SlidingWindow({ clock: this.#clock });
    this.#windowByMethod.set(method, window);
    return window;
  }
}
