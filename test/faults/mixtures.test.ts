// Nodes fail in all ways at random moments, while one is always healthy: no caller gets a wrong answer, no call fails,
// and none stalls. HEADGATE_SEED and HEADGATE_SECONDS repeat a run, or make it longer.
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { RunningGateway } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import type { Sample } from "./load.ts";
import { carryOut, stepsText } from "./mixture.ts";
import { planMixture } from "./mixture-plan.ts";
import { Nodes } from "./nodes.ts";
import { flawsText, type Tally, tallySamples } from "./tally-samples.ts";
import { readGateway } from "./watch.ts";
import { type Network, openWorld, type World } from "./world.ts";

const { CI, HEADGATE_SECONDS } = process.env;
/** The time of all mixtures together: four networks of one gateway run in parallel, each for a quarter of it. */
const SECONDS = Number(HEADGATE_SECONDS ?? (CI === "true" ? 300 : 60));
const FIRST_SEED = inject("seed");
const MIXTURES = [
  { seed: FIRST_SEED, nodes: 3 },
  { seed: FIRST_SEED + 1, nodes: 4 },
  { seed: FIRST_SEED + 2, nodes: 3 },
  { seed: FIRST_SEED + 3, nodes: 4 },
];
const RUN_MS = (SECONDS / MIXTURES.length) * 1000;
const PER_SECOND = 60;
const LONGEST_MS = 3_000;
/** The most that a young heap grows in a minute; bench/soak.ts shows whether it goes on growing. */
const MEMORY_BOUND_BYTES = 192 * 2 ** 20;

type Mixture = (typeof MIXTURES)[number];

let nodes: Nodes;
let world: World;
let grownBytes: number;
const seenOf = new Map<Mixture, { tally: Tally; hint: string }>();

beforeAll(async () => {
  nodes = new Nodes({ seed: FIRST_SEED, blockMs: 1_000 });
  const shapes = MIXTURES.map((mixture) => ({ nodes: mixture.nodes, isFollowed: true }));
  const options = { perSecond: PER_SECOND, seed: FIRST_SEED };
  world = await openWorld(shapes, options, { nodes });
  for (const { load } of world.networks) load.start();
  await until("the loads run", async () =>
    world.networks.every(({ load }) => load.between(0, Date.now()).length > 2 * PER_SECOND),
  );
  const before = await readGateway(world.gateway);
  await Promise.all(
    MIXTURES.map((mixture, index) => run(mixture, world.networks[index] as Network)),
  );
  grownBytes = (await readGateway(world.gateway)).memoryBytes - before.memoryBytes;
}, RUN_MS + 90_000);

async function run(mixture: Mixture, network: Network): Promise<void> {
  const { load } = network;
  const steps = planMixture({ ...mixture, ms: RUN_MS });
  const startedAtMs = Date.now();
  await carryOut(steps, network);
  await load.stop();
  const samples = load.take();
  const tally = tallySamples(samples);
  const hint = [
    `seed ${mixture.seed}\n${stepsText(steps)}`,
    saidBy(world.gateway, `network-${MIXTURES.indexOf(mixture) + 1}`, startedAtMs),
    flawTimes(samples, startedAtMs),
  ].join("\n\n");
  seenOf.set(mixture, { tally, hint });
  process.stdout.write(
    `seed ${mixture.seed}: ${tally.requests} requests, p99 ${Math.round(tally.p99Ms)} ms, ` +
      `longest ${Math.round(tally.maxMs)} ms\n`,
  );
}

afterAll(async () => {
  await world.close();
  nodes.stop();
});

describe(`nodes that fail at random for ${SECONDS} s in all, one of them well`, () => {
  it.each(MIXTURES)(
    "seed $seed, $nodes nodes: all answers are right, and none is late",
    (mixture) => {
      const { tally, hint } = seenOf.get(mixture) ?? {};
      expect(tally?.requests).toBeGreaterThan((PER_SECOND * RUN_MS) / 2_000);
      expect.soft(flawsText(tally as Tally), hint).toBe("");
      expect.soft(tally?.maxMs, hint).toBeLessThan(LONGEST_MS);
    },
  );

  it("memory stays what it was, and nothing is left in flight", async () => {
    expect(grownBytes).toBeLessThan(MEMORY_BOUND_BYTES);
    await until("nothing is in flight", async () => {
      const { inFlight } = await readGateway(world.gateway);
      return inFlight === 0;
    });
  });
});

/** The lines about a network in the gateway's log. */
const saidBy = ({ log }: RunningGateway, network: string, startedAtMs: number): string =>
  log
    .filter((line) => line["network"] === network && Number(line.level) >= 30)
    .map(({ time, level: _, network: __, ...line }) => {
      const seconds = ((Number(time) - startedAtMs) / 1000).toFixed(1);
      return `${seconds} s: ${JSON.stringify(line)}`;
    })
    .join("\n");

/** The times of the first flaws, to compare with the steps. */
const flawTimes = (samples: readonly Sample[], startedAtMs: number): string =>
  samples
    .flatMap(({ sentAtMs, verdict }) =>
      verdict.kind === "right"
        ? []
        : [`${((sentAtMs - startedAtMs) / 1000).toFixed(1)} s: ${verdict.why}`],
    )
    .slice(0, 20)
    .join("\n");
