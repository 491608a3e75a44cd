// How much was sent to a node in the last second that anything was.

const SPAN_MS = 1000;

export class SentRate {
  /** Two spans side by side: what was sent in the one that is running, and in the one before. */
  #running = 0;
  #before = 0;
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  sent(cost: number, nowMs: number): void {
    const spans = Math.floor((nowMs - this.#beganAtMs) / SPAN_MS);
    if (spans > 0) {
      this.#before = spans === 1 ? this.#running : 0;
      this.#running = 0;
      this.#beganAtMs = spans === 1 ? this.#beganAtMs + SPAN_MS : nowMs;
    }
    this.#running += cost;
    this.#lastAtMs = nowMs;
  }

  /** As of the last call, not of now: a refusal may take long to come, and is about then. */
  get perSecond(): number {
    if (this.#before === 0) return this.#running;
    const passed = (this.#lastAtMs - this.#beganAtMs) / SPAN_MS;
    return this.#running + this.#before * (1 - passed);
  }
}
