import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type FakeProcess, pass, startFakeProcess } from "../../../test/support/fake-fleet.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { Costs, type LimitSettings, unservedNames } from "./meter.ts";

const declared = (name: string) => ({ name, cost: 5 });

describe("the costs of calls", () => {
  it.each([
    [{}, "eth_call", 5],
    [{ eth_call: 3 }, "eth_call", 3],
    [{ eth_call: 0 }, "eth_call", 0],
    [{ eth_call: 3 }, "eth_getCode", 5],
    [{ "eth_*": 7, eth_call: 3 }, "eth_call", 3],
    [{ "*": 9, "eth_*": 7, "eth_get*": 8 }, "eth_getCode", 8],
    [{ "*": 9, "eth_*": 7 }, "net_version", 9],
  ])("with %j, %s costs %s", (settings, name, want) => {
    const costs = new Costs(settings);
    expect([costs.of(declared(name)), costs.of(declared(name))]).toEqual([want, want]);
  });

  it("count from the moment that they are changed", () => {
    const method = declared("eth_call");
    const costs = new Costs({ eth_call: 3 });
    costs.of(method);
    costs.configure({ eth_call: 4 });
    expect(costs.of(method)).toBe(4);
  });

  it("are 1 for what no network has", () => {
    expect(new Costs({ "*": 9 }).of(undefined)).toBe(1);
  });

  it("name methods that are served, or patterns", () => {
    const isServed = (name: string) => name === "eth_call";
    expect(unservedNames({ eth_call: 1, eth_cal: 1, "trace_*": 1 }, isServed)).toEqual(["eth_cal"]);
  });
});

let clock: FakeClock;
let state: MemoryState;

beforeEach(() => {
  clock = new FakeClock();
  state = new MemoryState({ clock });
});

const rate = (perSecond: number, burst = perSecond): LimitSettings => ({
  rate: { computeUnitsPerSecond: perSecond, burstComputeUnits: burst },
  computeUnits: {},
});

const start = async (
  settings: LimitSettings,
  options: readonly { isAlone?: boolean; skewMs?: number }[],
): Promise<FakeProcess[]> => {
  const all = options.map((each, at) =>
    startFakeProcess({ id: `m${at}`, settings, ...each }, { clock, state }),
  );
  await clock.advance(1000); // all processes have seen each other
  return all;
};

/** In each step of 10 ms, process n asks `calls[n]` times for `units`. */
const load = async (
  all: readonly FakeProcess[],
  { calls, units, seconds }: { calls: readonly number[]; units: number; seconds: number },
): Promise<number> => {
  for (let step = 0; step < seconds * 100; step++) {
    all.forEach((each, at) => {
      for (let call = 0; call < (calls[at] ?? 0); call++) each.ask(units);
    });
    await pass(clock, 10);
  }
  return all.reduce((sum, { taken }) => sum + taken, 0);
};

describe("a rate under full load", () => {
  it.each([
    { who: "one process alone", options: [{ isAlone: true }], calls: [20] },
    { who: "one process of a fleet", options: [{}], calls: [20] },
    { who: "two equal processes", options: [{}, {}], calls: [20, 20] },
    { who: "two with unequal shares", options: [{}, {}], calls: [20, 1] },
    { who: "five", options: [{}, {}, {}, {}, {}], calls: [20, 1, 5, 0, 2] },
  ])("is what it should be within 1 in 100 for $who", async ({ options, calls }) => {
    state.latencyMs = 3;
    const all = await start(rate(200), options);
    const first = await load(all, { calls, units: 1, seconds: 3 });
    expect(first).toBeLessThanOrEqual(200 * 4); // the burst included
    const taken = (await load(all, { calls, units: 1, seconds: 10 })) - first;
    expect(Math.abs(taken - 2000)).toBeLessThanOrEqual(20);
  });

  it("gives no more than one burst more when clocks are far apart", async () => {
    state.latencyMs = 3;
    const all = await start(rate(200), [{}, { skewMs: 3_600_000 }, { skewMs: -9000 }]);
    const taken = await load(all, { calls: [9, 9, 9], units: 1, seconds: 20 });
    expect(taken).toBeLessThanOrEqual(200 * 21 + 200);
    expect(taken).toBeGreaterThanOrEqual(200 * 21 * 0.99);
    expect(all.every((each) => each.taken > 300)).toBe(true);
  });

  it("costs far fewer round trips than calls", async () => {
    state.latencyMs = 3;
    const all = await start(rate(10_000), [{}, {}]);
    state.roundTrips = 0;
    expect(await load(all, { calls: [20, 20], units: 1, seconds: 5 })).toBe(20_000);
    expect(state.roundTrips).toBeLessThan(300);
  });
});

describe("calls that come at once", () => {
  it("wait for one reservation, which is for all of them", async () => {
    state.latencyMs = 3;
    const [one] = await start({ computeUnits: { perDay: 10_000 } }, [{ isAlone: true }]);
    state.roundTrips = 0;
    for (let call = 0; call < 500; call++) one?.ask(1);
    await pass(clock, 6);
    expect([one?.taken, one?.waiting]).toEqual([500, 0]);
    expect(state.roundTrips).toBeLessThanOrEqual(2);
  });
});

describe("a quota", () => {
  const day = (perDay: number): LimitSettings => ({ computeUnits: { perDay } });

  it.each([
    { who: "one process", options: [{ isAlone: true }], calls: [3] },
    { who: "two equal processes", options: [{}, {}], calls: [3, 3] },
    { who: "three with unequal shares", options: [{}, {}, {}], calls: [9, 1, 0] },
  ])("gives exactly what it is to $who", async ({ options, calls }) => {
    state.latencyMs = 3;
    const all = await start(day(500), options);
    expect(await load(all, { calls, units: 1, seconds: 12 })).toBe(500);
  });

  it("tells when it begins anew, and does", async () => {
    const [one] = await start(day(10), [{ isAlone: true }]);
    one?.ask(10);
    await clock.advance(1);
    expect(one?.meter.charge(1, clock.now())).toMatchObject({ rule: "day", remaining: 0 });
    const short = one?.meter.charge(1, clock.now());
    expect(short).toMatchObject({ limit: 10, retryAfter: 86_399 });
    await clock.advance(86_400_000);
    one?.ask(7);
    await clock.advance(1);
    expect(one?.taken).toBe(17);
    expect(one?.meter.snapshot().day).toMatchObject({ used: 7, remaining: 3 });
  });

  it("holds over the death of a process, which loses no more than it held", async () => {
    const [one] = await start(day(10_000), [{ isAlone: true }]);
    await load([one as FakeProcess], { calls: [5], units: 1, seconds: 2 });
    const [next] = await start(day(10_000), [{ isAlone: true }]);
    const more = await load([next as FakeProcess], { calls: [200], units: 1, seconds: 2 });
    expect(1000 + more).toBeLessThanOrEqual(10_000);
    expect(1000 + more).toBeGreaterThanOrEqual(10_000 - 500); // one second of its calls
  });
});

describe("limits of several kinds", () => {
  it("take nothing when one of them refuses", async () => {
    const settings = { ...rate(10), computeUnits: { perDay: 1000, perMonth: 5000 } };
    const [one] = await start(settings, [{ isAlone: true }]);
    for (let call = 0; call < 50; call++) one?.ask(1);
    await clock.advance(1);
    const { day, month } = one?.meter.snapshot() ?? {};
    expect([one?.taken, day?.used, month?.used]).toEqual([10, 10, 10]);
  });

  it("cost nothing when a key has none", () => {
    const { meter } = startFakeProcess(
      { id: "m", settings: { computeUnits: {} } },
      { clock, state },
    );
    expect([meter.charge(1e9, 0), meter.begin(), meter.snapshot()]).toEqual([
      undefined,
      undefined,
      {},
    ]);
  });

  it("are changed while what was taken stays taken", async () => {
    const [one] = await start({ computeUnits: { perDay: 10 } }, [{ isAlone: true }]);
    one?.ask(10);
    await clock.advance(1);
    one?.meters.of("demo", { computeUnits: { perDay: 15 }, concurrentCalls: 1 });
    expect(one?.meter.snapshot()).toMatchObject({ day: { used: 10, remaining: 5 } });
    one?.meters.of("demo", { computeUnits: {} });
    expect(one?.meter.charge(100, clock.now())).toBeUndefined();
  });
});

describe("calls at the same time", () => {
  it("are as many as are allowed, divided among the processes", async () => {
    const all = await start({ computeUnits: {}, concurrentCalls: 3 }, [{}, {}]);
    const [one] = all;
    expect([one?.meter.begin(), one?.meter.begin()]).toEqual([undefined, undefined]);
    const short = { limit: 3, remaining: 0, retryAfter: 1, rule: "concurrent" };
    expect(one?.meter.begin()).toEqual(short);
    one?.meter.end();
    expect(one?.meter.begin()).toBeUndefined();
    await all[1]?.meters.close(); // the process leaves, and the other one gets its part
    await clock.advance(1000);
    expect(one?.meter.begin()).toBeUndefined();
    expect(one?.meter.begin()).toEqual(short);
  });
});

describe("while the state is away", () => {
  it("each process has its part of a rate", async () => {
    const all = await start(rate(200), [{}, {}]);
    await load(all, { calls: [9, 9], units: 1, seconds: 5 });
    state.isAway = true;
    const before = all.reduce((sum, { taken }) => sum + taken, 0);
    const after = await load(all, { calls: [9, 0], units: 1, seconds: 10 });
    expect(after - before).toBeGreaterThanOrEqual(1000 * 0.95);
    expect(after - before).toBeLessThanOrEqual(1000 + 100);
  });

  it("each has its part of what is known to be left of a day, which is booked when it is back", async () => {
    const all = await start({ computeUnits: { perDay: 1000 } }, [{}, {}]);
    await load(all, { calls: [1, 1], units: 1, seconds: 1 });
    state.isAway = true;
    await load(all, { calls: [9, 9], units: 1, seconds: 10 });
    state.isAway = false;
    const taken = await load(all, { calls: [9, 9], units: 1, seconds: 10 });
    expect(taken).toBeGreaterThanOrEqual(950);
    expect(taken).toBeLessThanOrEqual(1010); // plus the units of the other process that were not known yet
    expect(state.texts.get("limits demo 1970-01-01")).toMatch(new RegExp(`^${taken} `));
  });

  it("a state that hangs keeps a call waiting for a second at most", async () => {
    const [one] = await start(rate(200), [{}, {}]);
    state.latencyMs = 60_000;
    one?.ask(1);
    await clock.advance(999);
    expect(one?.waiting).toBe(1);
    await clock.advance(1);
    expect([one?.waiting, one?.taken]).toEqual([0, 1]);
    one?.ask(1);
    expect([one?.waiting, one?.taken]).toEqual([0, 2]);
  });

  it("a change that nobody confirmed is found again", async () => {
    const [one] = await start({ computeUnits: { perDay: 100 } }, [{}]);
    state.losesAnswers = true;
    one?.ask(10);
    await clock.advance(1);
    state.losesAnswers = false;
    await clock.advance(2000);
    const taken = await load([one as FakeProcess], { calls: [1], units: 1, seconds: 8 });
    expect(taken).toBe(100);
  });
});
