// What is done while the chain is not followed yet: waiting a little, or going by a node's word.
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/waiting.ts";
import type { ChainView } from "./chain-view.ts";
import type { AskedNode, ChainDialect } from "./dialect.ts";
import type { Position } from "./store-keys.ts";

/** How long a call waits for the chain to be followed at all, and how often it looks, in milliseconds. */
const LIVE_TIMEOUT_MS = 3_000;
const LOOK_AGAIN_MS = 50;

/** The view, as soon as there is one. */
export async function firstView(
  signal: AbortSignal,
  parts: {
    readonly view: () => ChainView | undefined;
    /** Has all nodes looked at. */
    readonly look: () => Promise<void>;
    readonly clock: Pick<Clock, "now" | "sleep">;
  },
): Promise<ChainView | undefined> {
  const { view, look, clock } = parts;
  const giveUpAt = clock.now() + LIVE_TIMEOUT_MS;
  while (!view() && !signal.aborted && clock.now() < giveUpAt) {
    await within(giveUpAt - clock.now(), look(), { clock, signal });
    if (!view()) await clock.sleep(LOOK_AGAIN_MS, signal).catch(() => undefined);
  }
  return view();
}

/** The newest block as some node tells it, unproven: for whoever cannot wait for the chain. */
export async function headOfNodes(
  nodes: readonly AskedNode[],
  signal: AbortSignal,
  parts: { readonly dialect: Pick<ChainDialect, "readPosition"> },
): Promise<Position | undefined> {
  for (const node of nodes) {
    const position = await parts.dialect.readPosition("latest", node, signal);
    if (position) return position;
  }
  return undefined;
}
