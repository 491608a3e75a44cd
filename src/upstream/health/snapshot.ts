// What is known of a node at this moment, for metrics.
import type { UpstreamSnapshot } from "../../observe/upstream-gauges.ts";
import type { Upstream } from "../upstream.ts";
import type { HeadTimes } from "./head-times.ts";

type ShownNode = Pick<
  Upstream,
  "name" | "health" | "turns" | "budget" | "capabilities" | "head" | "isElsewhere"
>;

export function snapshotOf(
  { name, health, turns, budget, capabilities, head, isElsewhere }: ShownNode,
  heads: Pick<HeadTimes, "highest" | "secondsBehind">,
): UpstreamSnapshot {
  return {
    upstream: name,
    head: head?.number,
    lagBlocks: head ? Math.max(0, heads.highest - head.number) : 0,
    lagSeconds: head ? heads.secondsBehind(head.number) : 0,
    isElsewhere,
    inFlight: health.inFlight,
    waiting: turns.waiting,
    groups: health.groups.map((group) => ({ group, ...health.group(group) })),
    budget: budget.state(),
    lackedMethods: capabilities.snapshot().lackedMethods,
  };
}
