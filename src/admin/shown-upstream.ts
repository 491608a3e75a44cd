// How one node does, as an operator is told. Field by field: a snapshot may have more.
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { Status } from "./schemas.ts";

type Shown = Status["networks"][number]["upstreams"][number];

export function shownUpstream(snapshot: UpstreamSnapshot, isUsable: boolean): Shown {
  const { upstream, head, lagBlocks, lagSeconds, isElsewhere, inFlight, lackedMethods } = snapshot;
  const { perSecond, pausedForMs, monthUsed, monthLeft } = snapshot.budget;
  return {
    upstream,
    isUsable,
    head,
    lagBlocks,
    lagSeconds,
    isElsewhere,
    inFlight,
    lackedMethods,
    groups: snapshot.groups.map(({ group, breaker, errorRate, medianMs, p95Ms }) => {
      return { group, breaker, errorRate, medianMs, p95Ms };
    }),
    budget: { perSecond, pausedForMs, monthUsed, monthLeft },
  };
}
