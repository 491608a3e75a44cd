// One fault from its beginning to its end: healthy, broken, mended; and what callers saw of it.
import { setTimeout as pause } from "node:timers/promises";
import { type Fault, HEALTHY } from "./faults.ts";
import { type Tally, tallySamples } from "./tally-samples.ts";
import { callersCallsAt, type Network, stateCallsAt, type World } from "./world.ts";

export type Scenario = {
  readonly name: string;
  /** Of the first nodes of the configuration; after them comes one healthy node. */
  readonly faults: readonly Fault[];
  readonly isFollowed: boolean;
};

export type Outcome = {
  readonly scenario: Scenario;
  readonly healthy: Tally;
  readonly broken: Tally;
  /** Calls at nodes for each call of a caller, while all were healthy and during the fault. */
  readonly amplification: { readonly healthy: number; readonly broken: number };
  /** From the end of the fault until all was as before; undefined: not within `RECOVERY_MS`. */
  readonly recoveredMs: number | undefined;
  /** What was not as before in the end. */
  readonly missing: string;
};

const PHASE_MS = { warmUp: 1_500, healthy: 3_000, broken: 5_000 };
/** Calls that are on their way when nodes fail are counted as hit. */
const ON_THEIR_WAY_MS = 200;
export const RECOVERY_MS = 10_000;
/** How long a call may wait for a node before another is asked as well. */
const HEDGE_MS = 100;
/** Below this, a p99 is the machine's noise. */
const LEAST_P99_MS = 15;

/**
 * What the p99 stays under while nodes fail, in milliseconds. The machine's own pauses befall load,
 * gateway and nodes alike; those of the load are known.
 */
export const p99BoundMs = (healthy: Pick<Tally, "p99Ms">, seen: Pick<Tally, "lateP99Ms">): number =>
  2 * Math.max(LEAST_P99_MS, healthy.p99Ms) + HEDGE_MS + 3 * seen.lateP99Ms;

export const runScenarios = (
  scenarios: readonly Scenario[],
  world: Pick<World, "networks">,
): Promise<Outcome[]> =>
  Promise.all(
    scenarios.map((scenario, index) => runScenario(scenario, world.networks[index] as Network)),
  );

async function runScenario(scenario: Scenario, network: Network): Promise<Outcome> {
  const { load, nodes } = network;
  load.start();
  const warmUp = await observe(() => pause(PHASE_MS.warmUp), network);
  const healthy = await observe(() => pause(PHASE_MS.healthy), network);
  const broken = await observe(async () => {
    await pause(ON_THEIR_WAY_MS);
    await Promise.all(scenario.faults.map((fault, index) => nodes[index]?.setFault(fault)));
    await pause(PHASE_MS.broken);
  }, network);
  const mended = nodes.slice(0, scenario.faults.length);
  await Promise.all(mended.map((node) => node.setFault(HEALTHY)));
  const well = tallySamples(load.between(healthy.fromMs, healthy.toMs));
  const recovery = await recover(well, { ...network, nodes: mended });
  await load.stop();
  // Only now is all answered that was asked.
  const tallyOf = ({ fromMs, toMs }: Observed): Tally => tallySamples(load.between(fromMs, toMs));
  const [before, during] = [tallyOf(healthy), tallyOf(broken)];
  // From the beginning: there no call is on its way that was not counted.
  const asked = before.stateCalls + tallyOf(warmUp).stateCalls;
  return {
    scenario,
    healthy: before,
    broken: during,
    amplification: {
      healthy: (warmUp.atNodes + healthy.atNodes) / Math.max(1, asked),
      broken: broken.atNodes / Math.max(1, during.stateCalls),
    },
    ...recovery,
  };
}

type Observed = { readonly fromMs: number; readonly toMs: number; readonly atNodes: number };

async function observe(
  happen: () => Promise<void>,
  { nodes }: Pick<Network, "nodes">,
): Promise<Observed> {
  const before = await stateCallsAt(nodes);
  const fromMs = Date.now();
  await happen();
  const toMs = Date.now();
  return { fromMs, toMs, atNodes: (await stateCallsAt(nodes)) - before };
}

const SLICE_MS = 500;

/** Waits until every mended node is asked again, and half a second's answers are as before. */
export async function recover(
  healthy: Pick<Tally, "p99Ms">,
  { load, nodes }: Network,
): Promise<Pick<Outcome, "recoveredMs" | "missing">> {
  const startedAtMs = Date.now();
  const before = await Promise.all(nodes.map((node) => callersCallsAt([node])));
  let missing = "";
  while (Date.now() - startedAtMs < RECOVERY_MS) {
    await pause(100);
    const after = await Promise.all(nodes.map((node) => callersCallsAt([node])));
    const unasked = after.filter((count, index) => count === before[index]).length;
    const toMs = Date.now() - p99BoundMs(healthy, { lateP99Ms: 0 });
    const seen = tallySamples(load.between(toMs - SLICE_MS, toMs));
    const isWhole =
      toMs - SLICE_MS >= startedAtMs && seen.requests > 0.9 * load.perSecond * (SLICE_MS / 1000);
    const isGood = seen.wrong + seen.errors === 0 && seen.p99Ms < p99BoundMs(healthy, seen);
    if (unasked === 0 && isWhole && isGood)
      return { recoveredMs: toMs - SLICE_MS - startedAtMs, missing: "" };
    missing = unasked > 0 ? "calls for the node" : "good answers";
  }
  return { recoveredMs: undefined, missing };
}
