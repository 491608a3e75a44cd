// One node fails while another is healthy: callers hardly notice. Several networks of one gateway run in parallel,
// each with its own nodes, fault and load.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Nodes } from "./nodes.ts";
import { outcomesTable, writeTable } from "./resilience-table.ts";
import { type Outcome, p99BoundMs, RECOVERY_MS, runScenarios, type Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { flawsText } from "./tally-samples.ts";
import { InFlightWatch, readGateway, waitedForCpuMs } from "./watch.ts";
import { openWorld } from "./world.ts";

const PER_SECOND = 100;
const SIDE_BY_SIDE = 3;
/**
 * The share of the gateway's time that other work of the machine may take. Above it the latencies mean nothing: the test
 * repeats the round once, and then checks its answers but not its latencies.
 */
const BUSY_SHARE = 0.1;
const MOST_TRIES = 2;
/** A part of the names selects scenarios. */
const { HEADGATE_FAULTS: wanted = "", HEADGATE_WRITE_RESILIENCE: isToWrite } = process.env;

const chosen = scenarios.filter(({ name }) => name.includes(wanted));
const rounds = Array.from({ length: Math.ceil(chosen.length / SIDE_BY_SIDE) }, (_, round) =>
  chosen.slice(round * SIDE_BY_SIDE, (round + 1) * SIDE_BY_SIDE),
);

const outcomes: Outcome[] = [];
let mostWaited = 0;
let nodes: Nodes;

beforeAll(() => {
  nodes = new Nodes({ seed: 20, blockMs: 1_000 });
});

afterAll(async () => {
  nodes.stop();
  const table = outcomesTable(outcomes);
  const flaws = outcomes.map(({ scenario, broken, missing }) =>
    [scenario.name, flawsText(broken), missing && `lacks ${missing}`].filter(Boolean).join(": "),
  );
  process.stdout.write(`\n${table}\n\n${flaws.filter((text) => text.includes(": ")).join("\n")}\n`);
  process.stdout.write(`waited for the processor: ${Math.round(100 * mostWaited)} % at most\n`);
  if (isToWrite === "1" && mostWaited < BUSY_SHARE && outcomes.length === scenarios.length)
    await writeTable(table);
});

describe.each(rounds.map((round) => ({ round })))("a node that fails", ({ round }) => {
  let seen: Awaited<ReturnType<typeof tryRound>>;

  beforeAll(async () => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      seen = await tryRound(round);
      if (seen.waitedShare < BUSY_SHARE) break;
    }
    outcomes.push(...seen.outcomes);
    mostWaited = Math.max(mostWaited, seen.waitedShare);
  }, 150_000);

  it.each(round)("$name, followed $isFollowed: callers hardly see it", (scenario) => {
    const outcome = seen.outcomes.find((each) => each.scenario === scenario) as Outcome;
    const { healthy, broken, recoveredMs, missing } = outcome;
    expect(flawsText(healthy)).toBe("");
    expect.soft(flawsText(broken)).toBe("");
    if (seen.waitedShare < BUSY_SHARE)
      expect.soft(broken.p99Ms).toBeLessThan(p99BoundMs(healthy, broken));
    expect
      .soft(recoveredMs ?? Number.POSITIVE_INFINITY, `as before: ${missing}`)
      .toBeLessThan(RECOVERY_MS);
    expect(outcome.amplification.healthy).toBeLessThan(1.2);
  });

  it("keeps no queue", () => {
    expect(seen.mostInFlight).toBeLessThan(PER_SECOND * SIDE_BY_SIDE);
    expect(seen.leftInFlight).toBe(0);
  });
});

async function tryRound(round: readonly Scenario[]) {
  const shapes = round.map(({ faults, isFollowed }) => ({ nodes: faults.length + 1, isFollowed }));
  const world = await openWorld(shapes, { perSecond: PER_SECOND, seed: 1 }, { nodes });
  const watch = new InFlightWatch(world.gateway);
  const [startedAt, waitedMs] = [performance.now(), waitedForCpuMs(world.gateway)];
  try {
    const found = await runScenarios(round, world);
    return {
      outcomes: found,
      waitedShare: (waitedForCpuMs(world.gateway) - waitedMs) / (performance.now() - startedAt),
      leftInFlight: (await readGateway(world.gateway)).inFlight,
      mostInFlight: watch.stop(),
    };
  } finally {
    watch.stop();
    await world.close();
  }
}
