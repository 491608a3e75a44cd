// A call that shares a request with others: it may leave at any time, and is settled once.
import type { Exchange, NodeRequest } from "./connection.ts";

export class BatchedCall {
  readonly request: NodeRequest;
  readonly signal: AbortSignal;
  /** Called when the caller left before there was an answer. */
  onLeave: () => void = () => undefined;
  #isSettled = false;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #leave = (): void => {
    this.settle({ kind: "aborted" });
    this.onLeave();
  };

  constructor(request: NodeRequest, signal: AbortSignal, resolve: (exchange: Exchange) => void) {
    this.request = request;
    this.signal = signal;
    this.#resolve = resolve;
    signal.addEventListener("abort", this.#leave, { once: true });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The first time counts. */
  settle(exchange: Exchange): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.signal.removeEventListener("abort", this.#leave);
    this.#resolve(exchange);
  }
}
