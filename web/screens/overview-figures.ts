// What of an event is kept for charts: names of series, and their values. Pure.
import type { LiveHistory, LiveStatus } from "../../src/admin/schemas.ts";

export type LiveNetwork = LiveStatus["networks"][number];
export type LiveNode = LiveNetwork["upstreams"][number];

/** Where answers came from, as calls a second; what is left of all is the nodes'. */
export function sourcesOf({ perSecond }: Pick<LiveNetwork, "perSecond">) {
  const { calls, store, merged, here } = perSecond;
  return { store, merged, here, nodes: Math.max(0, calls - store - merged - here) };
}

export const seriesName = (...parts: readonly string[]): string => JSON.stringify(parts);

/** Of now, or of what was before. */
export function figuresOf({
  networks,
}: LiveHistory["past"][number] | LiveStatus): ReadonlyMap<string, number | undefined> {
  const figures = new Map<string, number | undefined>();
  for (const network of networks) {
    const { network: name, perSecond, upstreams } = network;
    const { medianMs, p99Ms, failed, refused } = perSecond;
    const shown = { ...sourcesOf(network), medianMs, p99Ms, failed, refused };
    for (const [figure, value] of Object.entries(shown))
      figures.set(seriesName(name, figure), value);
    for (const { upstream, lagBlocks } of upstreams)
      figures.set(seriesName(name, "lag", upstream), lagBlocks);
  }
  return figures;
}
