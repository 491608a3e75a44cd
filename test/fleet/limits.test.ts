// Limits and usage of keys at two gateways, one of which serves far more calls than the other.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { until } from "../support/processes.ts";
import { canRunFleet, type Fleet, startFleet } from "./fleet.ts";
import {
  COSTS,
  exhausted,
  type IsOver,
  load,
  METHOD,
  passed,
  type Served,
  type Share,
} from "./load.ts";

/** The time over which a rate is measured. */
const WATCHED_MS = atDepth(2_500, 5_000);
const RATE = 400;
/** The default burst of a rate. */
const BURST = RATE;
const PER_DAY = 3000;
const KEYS = [
  { name: "rated", key: "rated-key", rate: { computeUnits: RATE } },
  { name: "daily", key: "daily-key", computeUnits: { perDay: PER_DAY } },
  { name: "outlived", key: "outlived-key", computeUnits: { perDay: 20 * PER_DAY } },
  { name: "after", key: "after-key", computeUnits: { perDay: PER_DAY } },
];

type UsageRow = { readonly method: string; readonly calls: number; readonly refused: number };

describe.skipIf(!canRunFleet)("a key's limits at two gateways over one Redis", () => {
  let fleet: Fleet;
  /** The answered and refused calls of each key. */
  const answered = new Map<string, { calls: number; refused: number }>();

  beforeAll(async () => {
    fleet = await startFleet({ keys: KEYS, costs: COSTS });
  });
  afterAll(() => fleet.close());

  const urls = (name: string): [string, string] => [
    fleet.gateways[0].endpoint(`${name}-key`),
    fleet.gateways[1].endpoint(`${name}-key`),
  ];
  /** Shares with four of five callers at the first gateway. */
  const unequal = (name: string): Share[] => {
    const [first, second] = urls(name);
    return [
      { url: first, callers: 8 },
      { url: second, callers: 2 },
    ];
  };
  async function use(name: string, isOver: IsOver, shares = unequal(name)): Promise<Served> {
    const served = await load(shares, isOver, fleet.gateways);
    const before = answered.get(name) ?? { calls: 0, refused: 0 };
    const [calls, refused] = [before.calls + served.units, before.refused + served.refused];
    answered.set(name, { calls, refused });
    return served;
  }
  /** @param before The bucket was at most full; units that slow callers did not take stay in it. */
  function expectRate(before: Served, { units, seconds, servedSeconds }: Served): void {
    const allowed = BURST + RATE * (before.seconds + seconds) * 1.05;
    expect(before.units + units).toBeLessThanOrEqual(allowed);
    expect(units).toBeGreaterThanOrEqual(RATE * servedSeconds * 0.95);
  }

  it("give a rate within 5 %, both gateways together", async () => {
    const first = await use("rated", passed(1500)); // uses up the burst
    const served = await use("rated", passed(WATCHED_MS));
    expectRate(first, served);
    expect(Math.min(...served.each)).toBeGreaterThan(0);
  });

  it("give a day's units to the last one, and not one more", async () => {
    const served = await use("daily", exhausted());
    expect(served.units).toBe(PER_DAY);
    expect(Math.min(...served.each)).toBeGreaterThan(0);
    expect((await use("daily", passed(500))).units).toBe(0);
  });

  it("keep a day's units when one gateway is killed, but for what it held", async () => {
    const [first] = fleet.gateways;
    const before = await use("outlived", passed(1000));
    await first.kill();
    const [, url] = urls("outlived");
    const rest = await use("outlived", passed(atDepth(800, 2_000)), [{ url, callers: 4 }]);
    await first.restart();
    const last = await use("outlived", exhausted());
    const total = before.units + rest.units + last.units;
    expect(total).toBeLessThanOrEqual(20 * PER_DAY);
    // The killed gateway loses its reservation: less than both gateways use in half a second.
    expect(total).toBeGreaterThanOrEqual(20 * PER_DAY - before.units / before.seconds / 2);
  });

  it("hold again after Redis was killed and started again under load", async () => {
    const away = use("rated", passed(atDepth(1_500, 3_000)));
    await fleet.redis.kill();
    const alone = await away;
    expect(alone.units).toBeGreaterThan(0);
    expect(alone.units).toBeLessThanOrEqual(RATE + RATE * alone.seconds * 1.05);
    const back = use("rated", passed(2500));
    await fleet.redis.start();
    expectRate(await back, await use("rated", passed(5_000)));
    expect((await use("after", exhausted())).units).toBe(PER_DAY);
    expect((await use("daily", passed(500))).units).toBe(0);
  });

  it.each(["rated", "daily", "after"])(
    "are billed for exactly what was answered, and refused: %s",
    async (name) => {
      const [first] = fleet.gateways;
      // The last counted call of each gateway: once its count is written, all earlier ones are.
      const last = "net_version";
      for (const url of urls(name)) await ask(url, last);
      const rows = await until("both gateways have written their counts", async () => {
        const { json } = await first.admin("GET", `/usage?key=${name}`);
        const reported = (json as { rows: readonly UsageRow[] }).rows;
        const marked = reported.find(({ method }) => method === last);
        return marked && marked.calls + marked.refused === 2 ? reported : undefined;
      });
      expect(rows.find(({ method }) => method === METHOD)).toMatchObject(answered.get(name) ?? {});
    },
  );
});
