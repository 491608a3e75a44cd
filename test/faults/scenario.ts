// One fault from its beginning to its end: healthy, broken, repaired; and its effect on callers.
import { setTimeout as pause } from "node:timers/promises";
import { type Fault, HEALTHY } from "./faults.ts";
import { type Tally, tallySamples } from "./tally-samples.ts";
import { callersCallsAt, type Network, stateCallsAt, type World } from "./world.ts";

export type Scenario = {
  readonly name: string;
  /** The faults of the first nodes in the configuration; one healthy node follows them. */
  readonly faults: readonly Fault[];
  readonly isFollowed: boolean;
};

export type Outcome = {
  readonly scenario: Scenario;
  readonly healthy: Tally;
  readonly broken: Tally;
  /** Calls at nodes for each call of a caller, while all nodes were healthy and during the fault. */
  readonly amplification: { readonly healthy: number; readonly broken: number };
  /** The time from the end of the fault until all is as before; undefined: longer than `RECOVERY_MS`. */
  readonly recoveredMs: number | undefined;
  /** The condition that was not as before in the end. */
  readonly missing: string;
};

const PHASE_MS = { warmUp: 1_500, healthy: 3_000, broken: 5_000 };
/** Calls that are in flight when nodes fail count as hit. */
const ON_THEIR_WAY_MS = 200;
export const RECOVERY_MS = 10_000;
/** The longest wait for a node before the gateway hedges. */
const HEDGE_MS = 100;
/** Below this, a p99 is noise of the machine. */
const LEAST_P99_MS = 15;

/**
 * The bound for the p99 while nodes fail, in milliseconds. Pauses of the machine delay the load, the gateway and the
 * nodes alike; the load's own delay is known.
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
  // Only now all calls are answered.
  const tallyOf = ({ fromMs, toMs }: Observed): Tally => tallySamples(load.between(fromMs, toMs));
  const [before, during] = [tallyOf(healthy), tallyOf(broken)];
  // The warm-up counts too: at its beginning no uncounted call is in flight.
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

/** Waits until the gateway asks every repaired node again, and the answers of half a second are as before. */
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
