// A random plan of faults that a seed repeats: the node, the moment and the kind of each. Pure.
import { Random } from "../support/generated-chain/random.ts";
import { type Fault, HEALTHY, MIXED_FAULTS } from "./faults.ts";

export type Step = { readonly atMs: number; readonly node: number; readonly fault: Fault };

/** A repaired node counts as healthy after so long: the gateway cannot know it at once. */
const SETTLING_MS = 2_000;
const PAUSE_MS = [200, 1_500] as const;

/** A plan in which at each moment at least one node has been healthy for a while, and all are in the end. */
export function planMixture(options: { seed: number; ms: number; nodes: number }): Step[] {
  const random = new Random(options.seed);
  const healthySince = Array.from({ length: options.nodes }, (): number | undefined => 0);
  const steps: Step[] = [];
  let atMs = SETTLING_MS + random.between(PAUSE_MS);
  for (; atMs < options.ms - SETTLING_MS; atMs += random.between(PAUSE_MS)) {
    const node = random.below(options.nodes);
    const isBroken = healthySince[node] === undefined;
    const settledBefore = atMs - SETTLING_MS;
    const isAnotherWell = healthySince.some(
      (since, other) => other !== node && since !== undefined && since <= settledBefore,
    );
    if (!isBroken && !isAnotherWell) continue;
    steps.push({ atMs, node, fault: isBroken ? HEALTHY : random.one(MIXED_FAULTS) });
    healthySince[node] = isBroken ? atMs : undefined;
  }
  for (const [node, since] of healthySince.entries())
    if (since === undefined) steps.push({ atMs, node, fault: HEALTHY });
  return steps;
}
