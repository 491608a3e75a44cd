// Sets the faults of a network's nodes by a plan.
import { setTimeout as pause } from "node:timers/promises";
import type { Step } from "./mixture-plan.ts";
import type { Network } from "./world.ts";

/** Resolves after the last step; the load goes on. */
export async function carryOut(steps: readonly Step[], { nodes }: Network): Promise<void> {
  const startedAt = performance.now();
  for (const { atMs, node, fault } of steps) {
    await pause(Math.max(0, startedAt + atMs - performance.now()));
    await nodes[node]?.setFault(fault);
  }
}

/** The steps as text, to compare with the flaws. */
export const stepsText = (steps: readonly Step[]): string =>
  steps
    .map(({ atMs, node, fault }) => `${(atMs / 1000).toFixed(1)} s: node-${node + 1} ${fault.kind}`)
    .join("\n");
