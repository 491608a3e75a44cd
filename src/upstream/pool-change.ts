// Another configuration of a pool: its nodes are made ready beside those that are asked, and take their
// places in one step.
import { isDeepStrictEqual } from "node:util";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { Occupancy } from "../lib/mutex.ts";
import { within } from "../lib/waiting.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

export type PoolChange = {
  /** @param withinMs How long the calls in flight at nodes that leave are waited for. */
  commit(withinMs: number): void;
  /** Everything stays as it was. */
  cancel(): Promise<void>;
};

/** How long new nodes are waited for, in milliseconds: while others can be asked, and while none can. */
const TIMEOUT_MS = { besideOthers: 2_000, alone: 5_000 };
const LOOK_AGAIN_MS = 20;

type ReadyNode = Pick<Upstream, "state" | "isSettled">;

/** The node of these options, with all that is known of it. */
export const sameNode = <Node extends Pick<Upstream, "options">>(
  nodes: readonly Node[],
  options: UpstreamOptions,
): Node | undefined => nodes.find((node) => isDeepStrictEqual(node.options, options));

/** Resolves when it is known of each new node whether it can be used, or the timeout ends. */
export async function untilReady(
  { next, added }: { next: readonly ReadyNode[]; added: readonly ReadyNode[] },
  { clock }: { clock: Clock },
): Promise<void> {
  const startedAt = clock.now();
  while (added.some(({ isSettled }) => !isSettled)) {
    const isAlone = next.every(({ state }) => state !== "usable");
    const timeoutMs = isAlone ? TIMEOUT_MS.alone : TIMEOUT_MS.besideOthers;
    if (clock.now() - startedAt >= timeoutMs) return;
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Closes nodes when the calls are over that may still ask them, when the time is, or with the signal. */
export async function letGo(
  nodes: readonly Upstream[],
  { withinMs, signal }: { readonly withinMs: number; readonly signal: Signal },
  { callers, clock }: { callers: Occupancy; clock: Clock },
): Promise<void> {
  if (nodes.length === 0) return;
  const giveUpAt = clock.now() + withinMs;
  await within(withinMs, callers.empty(), { clock, signal });
  // Blocks are fetched of nodes without the pool.
  const isBusy = (): boolean => nodes.some(({ health }) => health.inFlight > 0);
  while (isBusy() && clock.now() < giveUpAt && !signal.aborted) await clock.sleep(LOOK_AGAIN_MS);
  await Promise.all(nodes.map((node) => node.close()));
}
