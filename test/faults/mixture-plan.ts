// Which node fails when, and how, by chance that can be repeated. Pure.
import { Random } from "../support/generated-chain/random.ts";
import { type Fault, HEALTHY, MIXED_FAULTS } from "./faults.ts";

export type Step = { readonly atMs: number; readonly node: number; readonly fault: Fault };

/** A node that was mended counts as healthy after so long: nobody can know it at once. */
const SETTLING_MS = 2_000;
const PAUSE_MS = [200, 1_500] as const;

/** At each moment one node at least is healthy and has been for a while; in the end all are. */
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
