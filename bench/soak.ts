// Half an hour of callers while nodes fail at random and a hostile caller attacks: memory and open files must not
// grow. `--minutes 30`, `--seed 1`, `--per-second 150`, `--calm` without the attacker. The exit code is 1 when one of
// them grew, an answer was wrong, a health check was late, an attack succeeded, or the process was replaced.
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { growthOf, meansOf } from "../test/faults/growth.ts";
import { carryOut } from "../test/faults/mixture.ts";
import { planMixture } from "../test/faults/mixture-plan.ts";
import { Nodes } from "../test/faults/nodes.ts";
import { flawsText, type Tally, tallySamples } from "../test/faults/tally-samples.ts";
import { type Reading, readGateway } from "../test/faults/watch.ts";
import { type Network, openWorld } from "../test/faults/world.ts";
import { Attacker } from "./attacks/attacker.ts";
import { HealthCheck } from "./attacks/health-check.ts";

type Look = Reading & {
  readonly minute: number;
  readonly tally: Tally;
  /** The time of the slowest health check, in milliseconds. */
  readonly healthMs: number;
  readonly attack: string;
};

const LOOK_MS = 10_000;
/** One attack lasts about as long as the interval between two looks. */
const ATTACK_MS = 9_500;
/** The most for a health check: callers, nodes, attacker and gateway share the machine. */
const MOST_HEALTH_MS = 1_000;
/** The gateway refuses large work while an attacker's answers fill its memory for them: the most of all requests. */
const TURNED_AWAY = "the gateway has too many answers waiting";
const MOST_TURNED_AWAY = 0.05;
const ATTACKERS_KEY = "attackers-key";
const BOUND_KEY = "bound-key";
const CONTRACT = `0x${"11".repeat(20)}`;
/** The first minutes do not count: the heap finds its size. */
const WARM_UP_MINUTES = 5;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: `${Date.now() % 1_000_000}` },
    "per-second": { type: "string", default: "150" },
    calm: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const perSecond = Number(values["per-second"]);

const nodes = new Nodes({ seed, blockMs: 1_000 });
const shape = { nodes: 4, isFollowed: true };
const keys = [
  { name: "attacker", key: ATTACKERS_KEY },
  { name: "bound", key: BOUND_KEY, contracts: [CONTRACT] },
];
const world = await openWorld([shape], { perSecond, seed, keys }, { nodes });
const [network] = world.networks as [Network];
const target = { url: world.gateway.url, network: "network-1", key: ATTACKERS_KEY };
/** Answers that the attacker was given, and that were not for it. */
const breaches = new Set<string>();
const attacker = new Attacker({
  target: { ...target, localAddress: "127.0.0.2" },
  ...{ eachMs: ATTACK_MS, seed, key: BOUND_KEY, contract: CONTRACT },
  adminUrl: new URL(world.gateway.metricsUrl).origin,
  onBreach: (what) => void breaches.add(what),
});
const { pid } = world.gateway.process;
const health = new HealthCheck({ url: `${world.gateway.url}/healthz` });
console.log(`seed ${seed}, ${minutes} minutes, ${perSecond} requests a second`);

try {
  network.load.start();
  health.start();
  if (!values.calm) attacker.start();
  const steps = planMixture({ seed, ms: minutes * 60_000, nodes: shape.nodes });
  const [looks] = await Promise.all([lookUntilEnd(), carryOut(steps, network)]);
  const problems = judge(looks);
  console.log(problems.length === 0 ? "flat: nothing grew" : problems.join("\n"));
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  health.stop();
  await attacker.stop();
  await world.close();
  nodes.stop();
}

/** Looks at the gateway until the end, and prints one row a minute. */
async function lookUntilEnd(): Promise<readonly Look[]> {
  const startedAt = performance.now();
  const seen: Look[] = [];
  console.log(
    "minute | memory MiB | own MiB | descriptors | of callers | in flight | requests/s | p99 ms | health ms | wrong | turned away | errors",
  );
  for (let look = 1; look * LOOK_MS <= minutes * 60_000; look += 1) {
    await pause(Math.max(0, startedAt + look * LOOK_MS - performance.now()));
    const tally = tallySamples(network.load.take());
    const healthMs = health.takeSlowestMs();
    const minute = (look * LOOK_MS) / 60_000;
    const reading = await readGateway(world.gateway);
    seen.push({ minute, tally, healthMs, attack: attacker.current, ...reading });
    if ((look * LOOK_MS) % 60_000 === 0) console.log(row(seen.slice(-60_000 / LOOK_MS)));
  }
  return seen;
}

/** One minute's row: the highest value of each figure, and the sums of requests and flaws. */
function row(minuteOf: readonly Look[]): string {
  const most = (read: (look: Look) => number): number => Math.max(...minuteOf.map(read));
  const sum = (read: (look: Look) => number): number =>
    minuteOf.reduce((total, look) => total + read(look), 0);
  return [
    most(({ minute }) => minute),
    most(({ memoryBytes }) => Math.round(memoryBytes / 2 ** 20)),
    most(({ ownMemoryBytes }) => Math.round(ownMemoryBytes / 2 ** 20)),
    most(({ descriptors }) => descriptors),
    most(({ callers }) => callers),
    most(({ inFlight }) => inFlight),
    Math.round(sum(({ tally }) => tally.requests) / 60),
    most(({ tally }) => Math.round(tally.p99Ms)),
    most(({ healthMs }) => Math.round(healthMs)),
    sum(({ tally }) => tally.wrong),
    sum(({ tally }) => turnedAway(tally)),
    sum(({ tally }) => tally.errors - turnedAway(tally)),
  ].join(" | ");
}

function judge(all: readonly Look[]): string[] {
  const warmUp = Math.min(WARM_UP_MINUTES, minutes / 3);
  const judged = all.filter(({ minute }) => minute > warmUp);
  const flaws = all.map(({ tally }) => flawsText(otherFlaws(tally))).filter((text) => text !== "");
  const requests = all.reduce((sum, { tally }) => sum + tally.requests, 0);
  const refused = all.reduce((sum, { tally }) => sum + turnedAway(tally), 0);
  // Memory depends on the present attack, so the comparison takes whole rounds of all attacks, or halves of a shorter run.
  const whole = values.calm ? 1 : Math.round(attacker.roundMs / LOOK_MS);
  const round = Math.max(1, Math.min(whole, Math.floor(judged.length / 2)));
  const grew = (read: (look: Look) => number) => growthOf(meansOf(judged.map(read), round));
  const memory = grew(({ ownMemoryBytes }) => ownMemoryBytes / 2 ** 20);
  const files = grew(({ descriptors, callers }) => descriptors - callers);
  console.log(
    `after ${warmUp.toFixed(1)} minutes: own memory ${memory.mean.toFixed(0)} MiB ${signed(memory.growth)}, ` +
      `descriptors without callers' ${files.mean.toFixed(0)} ${signed(files.growth)}`,
  );
  return [
    ...[...breaches].map((what) => `breach: ${what}`),
    ...deaths(),
    ...flaws.map((text) => `not right: ${text}`),
    ...all
      .filter(({ healthMs }) => healthMs > MOST_HEALTH_MS)
      .map(({ healthMs, attack }) => `health took ${Math.round(healthMs)} ms (attack: ${attack})`),
    ...(refused > requests * MOST_TURNED_AWAY ? [`${refused} of ${requests} turned away`] : []),
    ...(memory.growth > Math.max(8, memory.mean * 0.05) ? ["memory grew"] : []),
    ...(files.growth > Math.max(20, files.mean * 0.2) ? ["open files grew"] : []),
  ];
}

/** A gateway of one process starts once: it says so when it starts again after an error. */
function deaths(): string[] {
  const { process: main, log } = world.gateway;
  const starts = log.filter(({ msg }) => msg === "listening").length;
  const errors = log.filter(({ msg }) => msg === "an unexpected error").length;
  const isSame = main.pid === pid && main.exitCode === null && main.signalCode === null;
  return isSame && starts === 1 && errors === 0
    ? []
    : [`the process is not the one that started: ${starts} starts, ${errors} unexpected errors`];
}

function isTurnedAway(why: string): boolean {
  return why.includes(TURNED_AWAY);
}

function turnedAway({ countByFlaw }: Tally): number {
  return [...countByFlaw].reduce((sum, [why, count]) => sum + (isTurnedAway(why) ? count : 0), 0);
}

function otherFlaws({ countByFlaw }: Tally): Pick<Tally, "countByFlaw"> {
  return { countByFlaw: new Map([...countByFlaw].filter(([why]) => !isTurnedAway(why))) };
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(1)}`;
}
