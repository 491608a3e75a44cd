// The end of waiting, told to all who wait.

/** What those who wait use of an `AbortSignal`, which is one. */
export type Signal = Pick<AbortSignal, "aborted" | "reason"> & {
  /** Called once; never when it has aborted already. */
  addEventListener(event: "abort", listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(event: "abort", listener: () => void): void;
};

/** An `AbortController` and its signal for what is made and ended with each call: it costs a tenth. */
export class Cancellation implements Signal {
  #hasAborted = false;
  #reason: unknown;
  /** Most have one listener at most. */
  #listener: (() => void) | undefined;
  #others: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#hasAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The first time counts. No listener may throw. */
  abort(reason: unknown): void {
    if (this.#hasAborted) return;
    this.#hasAborted = true;
    this.#reason = reason;
    const [listener, others] = [this.#listener, this.#others];
    this.#listener = undefined;
    listener?.();
    // One that is removed by another is not called.
    for (const other of others ?? []) other();
    this.#others = undefined;
  }

  addEventListener(_event: "abort", listener: () => void): void {
    if (this.#hasAborted || listener === this.#listener) return;
    if (this.#listener === undefined && !this.#others?.size) this.#listener = listener;
    else {
      this.#others ??= new Set();
      this.#others.add(listener);
    }
  }

  removeEventListener(_event: "abort", listener: () => void): void {
    if (listener === this.#listener) this.#listener = undefined;
    else this.#others?.delete(listener);
  }
}
