// Calls that ask the same at the same time are one call at the upstreams.
import { errors } from "../../jsonrpc/rpc-error.ts";
import { Cancellation, type Signal } from "../../lib/cancellation.ts";
import type { Pool } from "../pool.ts";
import type { CallEnds, CallOptions } from "./call-options.ts";

/** Made once, since an abort without a reason makes an exception with a stack. */
const NOBODY_WAITS = new Error("all callers have left");

/** A caller that waits for a shared call. */
type Waiter = {
  readonly signal: Signal;
  readonly leave: () => void;
  readonly resolve: (json: Buffer) => void;
  readonly reject: (error: unknown) => void;
};

/** One call at the upstreams, for all callers that wait for it. */
class SharedCall implements CallEnds {
  readonly ending = new Cancellation();
  /** Most calls have one. */
  #waiters: Waiter[] | undefined;
  readonly #paramsJson: string;
  readonly #inFlight: CallsByParams;

  /** @param inFlight It is one of them until nobody waits for it any more. */
  constructor(paramsJson: string, inFlight: CallsByParams) {
    this.#paramsJson = paramsJson;
    this.#inFlight = inFlight;
    inFlight.set(paramsJson, this);
  }

  /** The shared answer. Rejects at this caller's timeout. */
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

  /** An equal call after this is a new one. */
  #end(): void {
    if (this.#inFlight.get(this.#paramsJson) === this) this.#inFlight.delete(this.#paramsJson);
  }
}

/** Calls in flight that differ in their parameters alone. */
type CallsByParams = Map<string, SharedCall>;

/** Joins calls that ask the same at the same time into one. */
export class Coalescing {
  /** By method, variant and rule of cross-checks, which are few. One text of all would be made for each call. */
  readonly #inFlight = new Map<string, Map<string, Map<string, CallsByParams>>>();
  readonly #pool: Pick<Pool, "begin">;

  /** @param pool Makes the calls. */
  constructor(pool: Pick<Pool, "begin">) {
    this.#pool = pool;
  }

  /** As `Pool.call`, for calls that change nothing. Nobody may write to the bytes of the answer, which is shared. */
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

/** The map that has this name in another one; an empty one where there was none. */
function madeIn<Name, Inner>(maps: Map<string, Map<Name, Inner>>, name: string): Map<Name, Inner> {
  let inner = maps.get(name);
  if (!inner) {
    inner = new Map();
    maps.set(name, inner);
  }
  return inner;
}
