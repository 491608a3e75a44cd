// Joins equal calls that wait at the same time into one call at the upstreams.
import { errors } from "../../jsonrpc/rpc-error.ts";
import { Cancellation, type Signal } from "../../lib/cancellation.ts";
import type { Pool } from "../pool.ts";
import type { CallEnds, CallOptions } from "./call-options.ts";

/** Shared by all calls: an abort without a reason would create an exception with a stack each time. */
const NOBODY_WAITS = new Error("all callers have left");

/** A caller that waits for a shared call. */
type Waiter = {
  readonly signal: Signal;
  readonly leave: () => void;
  readonly resolve: (json: Buffer) => void;
  readonly reject: (error: unknown) => void;
};

/** One call at the upstreams, for all callers that wait for its answer. */
class SharedCall implements CallEnds {
  readonly ending = new Cancellation();
  /** undefined until the first caller waits; most calls have one. */
  #waiters: Waiter[] | undefined;
  readonly #paramsJson: string;
  readonly #inFlight: CallsByParams;

  /** @param inFlight The map that holds the call until it ends or its last caller leaves. */
  constructor(paramsJson: string, inFlight: CallsByParams) {
    this.#paramsJson = paramsJson;
    this.#inFlight = inFlight;
    inFlight.set(paramsJson, this);
  }

  /** Resolves to the shared answer. Rejects when this caller's signal aborts. */
  wait(signal: Signal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener("abort", leave);
        waiters.splice(waiters.indexOf(waiter), 1);
        if (waiters.length === 0) {
          this.#end();
          this.ending.abort(NOBODY_WAITS);
        }
        reject(errors.upstreamTimeout());
      };
      const waiter: Waiter = { signal, leave, resolve, reject };
      if (this.#waiters) this.#waiters.push(waiter);
      else this.#waiters = [waiter];
      const waiters = this.#waiters;
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  answered(json: Buffer): void {
    this.#end();
    for (const waiter of this.#waiters ?? []) this.#finished(waiter).resolve(json);
  }

  failed(error: unknown): void {
    this.#end();
    for (const waiter of this.#waiters ?? []) this.#finished(waiter).reject(error);
  }

  #finished(waiter: Waiter): Waiter {
    waiter.signal.removeEventListener("abort", waiter.leave);
    return waiter;
  }

  /** Makes the next equal call a new one. */
  #end(): void {
    if (this.#inFlight.get(this.#paramsJson) === this) this.#inFlight.delete(this.#paramsJson);
  }
}

/** Calls in flight that differ in their parameters alone, by parameters. */
type CallsByParams = Map<string, SharedCall>;

/** Callers of equal calls share one upstream call, which is aborted when the last of them leaves. */
export class Coalescing {
  /** By method, variant and cross-check rule, which are few. Nested maps spare each call a joined key. */
  readonly #inFlight = new Map<string, Map<string, Map<string, CallsByParams>>>();
  readonly #pool: Pick<Pool, "begin">;

  /** @param pool Makes the calls. */
  constructor(pool: Pick<Pool, "begin">) {
    this.#pool = pool;
  }

  /** As `Pool.call`, for calls that change nothing. Callers share the bytes of the answer and must not change them. */
  call(method: string, paramsJson: string, signal: Signal, options?: CallOptions): Promise<Buffer> {
    if (signal.aborted) return Promise.reject(errors.upstreamTimeout());
    const inFlight = this.#callsOf(method, options);
    const known = inFlight.get(paramsJson);
    if (known) {
      options?.ledger?.merged();
      return known.wait(signal);
    }
    const shared = new SharedCall(paramsJson, inFlight);
    const answer = shared.wait(signal);
    this.#pool.begin(method, paramsJson, shared.ending, shared, options);
    return answer;
  }

  #callsOf(method: string, options: CallOptions | undefined): CallsByParams {
    const { variant, crossCheck } = options ?? {};
    const byVariant = madeIn(this.#inFlight, method);
    return madeIn(madeIn(byVariant, variant?.name ?? ""), crossCheck?.name ?? "");
  }
}

/** The inner map of this name; makes an empty one where there is none. */
function madeIn<Name, Inner>(maps: Map<string, Map<Name, Inner>>, name: string): Map<Name, Inner> {
  let inner = maps.get(name);
  if (!inner) {
    inner = new Map();
    maps.set(name, inner);
  }
  return inner;
}
