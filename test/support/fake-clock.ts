// A clock for tests that moves only when told to.
import type { Signal } from "../../src/lib/cancellation.ts";
import type { Clock } from "../../src/lib/clock.ts";

export class FakeClock implements Clock {
  #now = 0;
  #wallOffsetMs = 0;
  readonly #tasks = new Set<{ at: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now + this.#wallOffsetMs;
  }

  /** Sets the machine's clock ahead, or back, without letting time pass. */
  setWallTime(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  after(ms: number, run: () => void): () => void {
    const task = { at: this.#now + ms, run };
    this.#tasks.add(task);
    return () => this.#tasks.delete(task);
  }

  yield(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  sleep(ms: number, signal?: Signal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) throw signal.reason;
      const cancel = this.after(ms, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
  }

  /** The number of set timers: a test can check that none is left. */
  get waiting(): number {
    return this.#tasks.size;
  }

  /** Lets time pass until the next timer is due. @returns false when none is set. */
  async toNext(): Promise<boolean> {
    if (this.#tasks.size === 0) return false;
    this.#now = Math.max(this.#now, Math.min(...[...this.#tasks].map(({ at }) => at)));
    await this.advance(0);
    return true;
  }

  /** Lets time pass, runs the due timers in order, and then the work that they have started. */
  async advance(ms: number): Promise<void> {
    this.#now += ms;
    const due = [...this.#tasks].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    for (const task of due) if (this.#tasks.delete(task)) task.run();
    await new Promise(setImmediate);
  }
}
