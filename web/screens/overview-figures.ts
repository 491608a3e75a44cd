// The figures of an event that charts need: names of series, and their values. Pure.
import type { LiveHistory, LiveStatus } from "../../src/admin/schemas.ts";

export type LiveNetwork = LiveStatus["networks"][number];
export type LiveNode = LiveNetwork["upstreams"][number];

/** The sources of answers, in calls a second; the calls without another source went to nodes. */
export function sourcesOf({ perSecond }: Pick<LiveNetwork, "perSecond">) {
  const { calls, store, merged, here } = perSecond;
  return { store, merged, here, nodes: Math.max(0, calls - store - merged - here) };
}

export const seriesName = (...parts: readonly string[]): string => JSON.stringify(parts);

/** The figures of the present status, or of one entry of the history, by series name. */
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
