// Joins calls that ask the same at the same time into one.
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { Pool } from "../pool.ts";
import type { CallOptions } from "./call-options.ts";

type Question = {
  readonly method: string;
  readonly paramsJson: string;
  readonly options: CallOptions | undefined;
};

/** One call at the upstreams, for all who wait for it. */
type SharedCall = {
  readonly answer: Promise<Buffer>;
  readonly controller: AbortController;
  waiting: number;
};

/** Made once: an abort without a reason makes an exception with a stack. */
const NOBODY_WAITS = new Error("all callers have left");

export class Coalescing {
  /** Calls in flight, by what they ask. */
  readonly #inFlight = new Map<string, SharedCall>();
  readonly #pool: Pick<Pool, "call">;

  constructor(pool: Pick<Pool, "call">) {
    this.#pool = pool;
  }

  /** As `Pool.call`, for calls that change nothing. The answer's bytes are shared: nobody writes to them. */
  call(
    method: string,
    paramsJson: string,
    signal: AbortSignal,
    options?: CallOptions,
  ): Promise<Buffer> {
    if (signal.aborted) return Promise.reject(errors.upstreamTimeout());
    const question = questionOf(method, paramsJson, options);
    const inFlight = this.#inFlight.get(question);
    if (inFlight) options?.ledger?.merged();
    const shared = inFlight ?? this.#begin(question, { method, paramsJson, options });
    return this.#wait(question, shared, signal);
  }

  #begin(question: string, { method, paramsJson, options }: Question): SharedCall {
    const controller = new AbortController();
    const answer = this.#pool.call(method, paramsJson, controller.signal, options);
    const shared: SharedCall = { answer, controller, waiting: 0 };
    this.#inFlight.set(question, shared);
    const done = (): void => this.#forget(question, shared);
    answer.then(done, done);
    return shared;
  }

  /** The shared answer, or this caller's timeout. */
  #wait(question: string, shared: SharedCall, signal: AbortSignal): Promise<Buffer> {
    shared.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        shared.waiting -= 1;
        if (shared.waiting === 0) {
          this.#forget(question, shared); // who asks from now on is not to be told of this end
          shared.controller.abort(NOBODY_WAITS);
        }
        reject(errors.upstreamTimeout());
      };
      signal.addEventListener("abort", leave, { once: true });
      const stay = (): void => signal.removeEventListener("abort", leave);
      shared.answer.then(
        (json) => {
          stay();
          resolve(json);
        },
        (error: unknown) => {
          stay();
          reject(error);
        },
      );
    });
  }

  #forget(question: string, shared: SharedCall): void {
    if (this.#inFlight.get(question) === shared) this.#inFlight.delete(question);
  }
}

/** Lengths make it unambiguous, whatever stands in a name. */
function questionOf(method: string, paramsJson: string, options: CallOptions = {}): string {
  const { crossCheck: { name: crossCheck = "" } = {}, variant: { name: variant = "" } = {} } =
    options;
  const lengths = `${method.length},${variant.length},${crossCheck.length}`;
  return `${lengths},${method}${variant}${crossCheck}${paramsJson}`;
}
