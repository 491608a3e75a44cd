// All nodes are down: callers get a clear error soon, nothing accumulates, and the gateway recovers by itself.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/processes.ts";
import { type Fault, HEALTHY } from "./faults.ts";
import { Nodes } from "./nodes.ts";
import { RECOVERY_MS, recover } from "./scenario.ts";
import { flawsText, type Tally, tallySamples } from "./tally-samples.ts";
import { InFlightWatch, type Reading, readGateway, readGauge } from "./watch.ts";
import { CALL_TIMEOUT_MS, openWorld, type World } from "./world.ts";

const PER_SECOND = 100;
const HEALTHY_MS = 4_000;
/** After this the number of waiting callers no longer grows. */
const FULL_AFTER_MS = CALL_TIMEOUT_MS + 500;
const DOWN_MS = 10_000 + FULL_AFTER_MS;
/** The most that resident memory grows: the heap grows before a collection, and keeps its size after it. */
const RESIDENT_BOUND_BYTES = 96 * 2 ** 20;
/** The most that the heap keeps after a collection. */
const KEPT_BOUND_BYTES = 24 * 2 ** 20;
/** The heap grows by one or two megabytes a second, and V8 collects it when it has grown by half. */
const COLLECTED_MS = 60_000;

type Row = { readonly name: string; readonly fault: Fault; readonly isFollowed: boolean };

const rows: readonly Row[] = [
  { name: "nobody listens", fault: { kind: "refuse" }, isFollowed: true },
  { name: "nobody answers", fault: { kind: "hang" }, isFollowed: true },
  {
    name: "all answer 5xx, and no chain is followed",
    fault: { kind: "status", statuses: [500, 502, 503] },
    isFollowed: false,
  },
];

let nodes: Nodes;
let world: World;
let before: Reading;
let after: Reading;
let keptBytes: { before: number; after: number };
let mostInFlight = 0;
const seenOf = new Map<Row, { down: Tally; recoveredMs: number | undefined; missing: string }>();

beforeAll(async () => {
  nodes = new Nodes({ seed: 21, blockMs: 1_000 });
  const shapes = rows.map(({ isFollowed }) => ({ nodes: 2, isFollowed }));
  world = await openWorld(shapes, { perSecond: PER_SECOND, seed: 2 }, { nodes });
  for (const { load } of world.networks) load.start();
  await pause(HEALTHY_MS);
  const watch = new InFlightWatch(world.gateway);
  const fromMs = Date.now();
  const well = world.networks.map(({ load }) => tallySamples(load.between(fromMs - 2_000, fromMs)));
  await setFaults(({ fault }) => fault);
  await pause(FULL_AFTER_MS);
  before = await readGateway(world.gateway);
  const keptBefore = await keptHeapBytes();
  await pause(DOWN_MS - FULL_AFTER_MS);
  keptBytes = { before: keptBefore, after: await keptHeapBytes() };
  const toMs = Date.now() - CALL_TIMEOUT_MS; // later calls may wait until the nodes return
  after = await readGateway(world.gateway);
  await setFaults(() => HEALTHY);
  await Promise.all(
    rows.map(async (row, index) => {
      const { load } = world.networks[index] as World["networks"][number];
      const recovery = await recover(well[index] as Tally, { load, nodes: [] });
      await load.stop();
      const forwarded = load.between(fromMs + 100, toMs).filter(({ isForwarded }) => isForwarded);
      seenOf.set(row, { down: tallySamples(forwarded), ...recovery });
    }),
  );
  mostInFlight = watch.stop();
}, 240_000);

/** The old heap after a collection, in bytes. */
async function keptHeapBytes(): Promise<number> {
  const majors = (): Promise<number> =>
    readGauge(world.gateway, "nodejs_gc_duration_seconds_count", 'kind="major"');
  const earlier = await majors();
  await until("old garbage is collected", async () => (await majors()) > earlier, COLLECTED_MS);
  return readGauge(world.gateway, "nodejs_heap_space_size_used_bytes", 'space="old"');
}

const setFaults = (faultOf: (row: Row) => Fault): Promise<unknown> =>
  Promise.all(
    rows.flatMap((row, index) =>
      world.networks[index]?.nodes.map((node) => node.setFault(faultOf(row))),
    ),
  );

afterAll(async () => {
  await world.close();
  nodes.stop();
});

describe("when all nodes are down", () => {
  it.each(rows)("and $name, each call that needs one is answered -32603 in time", (row) => {
    const { down } = seenOf.get(row) ?? {};
    // In a batch, each member has the error.
    const clear = row.fault.kind === "hang" ? /^(50[234]: )?-32603 / : /^(50[23]: )?-32603 /;
    const unclear = [...(down?.countByFlaw ?? [])].filter(([why]) => !clear.test(why));
    expect(flawsText({ countByFlaw: new Map(unclear) })).toBe("");
    expect(down?.errors).toBe(down?.requests);
    expect(down?.maxMs).toBeLessThan(CALL_TIMEOUT_MS + 500);
  });

  it("memory stays what it was, and nothing is left in flight", async () => {
    expect(after.memoryBytes - before.memoryBytes).toBeLessThan(RESIDENT_BOUND_BYTES);
    expect(keptBytes.after - keptBytes.before).toBeLessThan(KEPT_BOUND_BYTES);
    expect(mostInFlight).toBeLessThan(1.5 * PER_SECOND * rows.length * (CALL_TIMEOUT_MS / 1000));
    expect((await readGateway(world.gateway)).inFlight).toBe(0);
  });

  it.each(rows)("and $name, service is back by itself after they return", (row) => {
    const { recoveredMs, missing } = seenOf.get(row) ?? {};
    expect(recoveredMs ?? Number.POSITIVE_INFINITY, `as before: ${missing}`).toBeLessThan(
      RECOVERY_MS,
    );
  });
});
