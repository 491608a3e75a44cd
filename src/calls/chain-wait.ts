// A call's wait for the followed chain to change: it ends in time for the caller to be told, and when the caller leaves.
import type { ChainView } from "../chain/chain-view.ts";
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/waiting.ts";
import type { ChainWait } from "../methods/method.ts";
import type { CallableNetwork, RequestScope } from "./caller.ts";

/** The end of a wait lies before the deadline of its request by this time, so that an answer leaves in time. */
const BEFORE_DEADLINE_MS = 250;

export type WaitForChainParts = {
  readonly network: Pick<CallableNetwork, "chain" | "onUpdate">;
  readonly scope: Pick<RequestScope, "signal" | "remainingMs">;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

export class WaitForChain implements ChainWait {
  readonly ms: number;
  readonly #endAtMs: number;
  readonly #parts: WaitForChainParts;

  constructor(options: Pick<ChainWait, "ms">, parts: WaitForChainParts) {
    const { scope, clock } = parts;
    this.ms = Math.max(0, Math.min(options.ms, scope.remainingMs - BEFORE_DEADLINE_MS));
    this.#endAtMs = clock.now() + this.ms;
    this.#parts = parts;
  }

  view(): ChainView | undefined {
    const view = this.#parts.network.chain?.view();
    return view?.isBehind ? undefined : view;
  }

  async next(mostMs: number): Promise<boolean> {
    const { network, scope, clock } = this.#parts;
    const signal = scope.signal();
    const leftMs = this.#endAtMs - clock.now();
    if (leftMs <= 0 || signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = network.onUpdate(resolve);
    await within(Math.min(leftMs, mostMs), promise, { clock, signal }).finally(stop);
    return !signal.aborted;
  }
}
