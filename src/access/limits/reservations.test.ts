import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type FakeProcess, pass, startFakeProcess } from "../../../test/support/fake-fleet.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import type { LimitSettings } from "./meter.ts";

const PERIOD_MS = 10;

/** A time in which load, latency and trouble stay the same. */
type Stretch = {
  readonly periods: number;
  /** Calls of each process in each period. */
  readonly calls: readonly number[];
  readonly units: number;
  readonly latencyMs: number;
  readonly trouble: "none" | "away" | "no answers";
  /** The process that dies at the beginning without giving units back, and is started again. */
  readonly dies: number | undefined;
};

const stretch = (trouble: fc.Arbitrary<Stretch["trouble"]>): fc.Arbitrary<Stretch> =>
  fc.record({
    periods: fc.integer({ min: 1, max: 150 }),
    calls: fc.array(fc.constantFrom(0, 0, 1, 3, 20), { minLength: 4, maxLength: 4 }),
    units: fc.constantFrom(1, 2, 7, 30),
    latencyMs: fc.constantFrom(0, 2, 30, 300),
    trouble,
    dies: fc.option(fc.nat(3), { nil: undefined, freq: 4 }),
  });

const quiet = stretch(fc.constant("none" as const));
const troubled = stretch(fc.constantFrom("none", "none", "away", "no answers"));

class World {
  readonly clock = new FakeClock();
  readonly state = new MemoryState({ clock: this.clock });
  readonly processes: FakeProcess[] = [];
  /** The units that dead processes had taken. */
  #takenByDead = 0;
  /** The units taken in each period. */
  readonly taken: number[] = [];
  readonly #settings: LimitSettings;

  constructor(settings: LimitSettings, processes: number) {
    this.#settings = settings;
    for (let at = 0; at < processes; at++) this.#start(at);
  }

  get total(): number {
    return this.processes.reduce((sum, { taken }) => sum + taken, this.#takenByDead);
  }

  get seconds(): number {
    return this.clock.now() / 1000;
  }

  async run({ periods, calls, units, latencyMs, trouble, dies }: Stretch): Promise<void> {
    if (dies !== undefined && dies < this.processes.length) this.#replace(dies);
    this.state.latencyMs = latencyMs;
    this.state.isAway = trouble === "away";
    this.state.losesAnswers = trouble === "no answers";
    for (let period = 0; period < periods; period++) {
      const before = this.total;
      this.processes.forEach((each, at) => {
        for (let call = 0; call < (calls[at] ?? 0); call++) each.ask(units);
      });
      await pass(this.clock, PERIOD_MS);
      this.taken.push(this.total - before);
    }
  }

  /** The most units taken in any window beyond those that the rate gives in it. */
  mostBeyond(perSecond: number): number {
    let most = 0;
    let beyond = 0;
    for (const taken of this.taken) {
      beyond = Math.max(0, beyond) + taken - (perSecond * PERIOD_MS) / 1000;
      most = Math.max(most, beyond);
    }
    return most;
  }

  /** Ends all trouble for 4 s, and then gives one process much load. */
  async recover(periods: number): Promise<void> {
    await this.run({ ...CALM, periods: 400, calls: [] });
    await this.run({ ...CALM, periods, calls: [20] });
  }

  #start(at: number): void {
    const id = `m${at}`;
    this.processes[at] = startFakeProcess({ id, settings: this.#settings }, this);
  }

  #replace(at: number): void {
    const dead = this.processes[at];
    if (dead) dead.die();
    this.#takenByDead += dead?.taken ?? 0;
    this.#start(at);
  }
}

const CALM = { units: 1, latencyMs: 2, trouble: "none", dies: undefined } as const;

const RATE = 300;
const BURST = 200;
const rate: LimitSettings = {
  rate: { computeUnitsPerSecond: RATE, burstComputeUnits: BURST },
  computeUnits: {},
};

describe("reservations of a rate", () => {
  it(
    "give burst + rate × time together, whoever asks, dies or is slow",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(quiet, { maxLength: 6 }),
          async (processes, stretches) => {
            const world = new World(rate, processes);
            for (const each of stretches) await world.run(each);
            expect(world.total).toBeLessThanOrEqual(BURST + RATE * world.seconds + 1e-6);
            // A process may hold units that it got before the window begins.
            expect(world.mostBeyond(RATE)).toBeLessThanOrEqual(2 * BURST + 1e-6);
            const before = world.total;
            await world.recover(500);
            expect(world.total - before).toBeGreaterThanOrEqual(RATE * 5 * 0.95);
          },
        ),
        { numRuns: 15 },
      ),
    60_000,
  );

  it(
    "go on by themselves after the state was away, with nobody left waiting",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(troubled, { maxLength: 6 }),
          async (processes, stretches) => {
            const world = new World(rate, processes);
            for (const each of stretches) await world.run(each);
            const outages = stretches.filter(({ trouble }) => trouble !== "none").length;
            // Processes that never saw each other each count themselves as the only one.
            const rates = Math.max(1 + outages, processes);
            const most = (1 + outages + processes) * BURST + RATE * world.seconds * rates;
            expect(world.total).toBeLessThanOrEqual(most);
            const before = world.total;
            await world.recover(500);
            expect(world.total - before).toBeGreaterThanOrEqual(RATE * 5 * 0.95);
            expect(world.total - before).toBeLessThanOrEqual(RATE * 9 + BURST);
            await world.run({ ...CALM, periods: 120, calls: [] });
            expect(world.processes.map(({ waiting }) => waiting)).toEqual(
              world.processes.map(() => 0),
            );
          },
        ),
        { numRuns: 15 },
      ),
    60_000,
  );
});

const LIMIT = 2000;
const day: LimitSettings = { computeUnits: { perDay: LIMIT } };

describe("reservations of a day", () => {
  it(
    "never give more than the limit, and all of it but what died with a process",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(quiet, { maxLength: 5 }),
          async (processes, stretches) => {
            const world = new World(day, processes);
            for (const each of stretches) await world.run(each);
            expect(world.total).toBeLessThanOrEqual(LIMIT);
            await world.recover(1000);
            expect(world.total).toBeLessThanOrEqual(LIMIT);
            if (stretches.every(({ dies }) => dies === undefined)) expect(world.total).toBe(LIMIT);
          },
        ),
        { numRuns: 15 },
      ),
    60_000,
  );

  it(
    "are booked whole when the state is back, and then nothing more is given",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(troubled, { maxLength: 5 }),
          async (processes, stretches) => {
            const world = new World(day, processes);
            for (const each of stretches) await world.run({ ...each, dies: undefined });
            // Processes that never saw each other each count themselves as the only one, and keep to the limit.
            expect(world.total).toBeLessThanOrEqual(LIMIT * processes);
            await world.recover(1000);
            const isUnsure = stretches.some(({ trouble }) => trouble === "no answers");
            if (!isUnsure) expect(world.total).toBeGreaterThanOrEqual(LIMIT * 0.95);
            await world.run({ ...CALM, periods: 800, calls: [] }); // unused units go back
            const booked = Number.parseFloat(
              world.state.texts.get("limits demo 1970-01-01") ?? "0",
            );
            expect(booked).toBeGreaterThanOrEqual(world.total);
            if (!isUnsure) expect(booked).toBe(world.total);
            const before = world.total;
            await world.run({ ...CALM, periods: 100, calls: [20, 20, 20, 20] });
            expect(world.total - before).toBeLessThanOrEqual(Math.max(0, LIMIT - booked));
            expect(world.processes.map(({ waiting }) => waiting)).toEqual(
              world.processes.map(() => 0),
            );
          },
        ),
        { numRuns: 15 },
      ),
    60_000,
  );

  it("do not book again what a change booked whose answer was lost", async () => {
    const world = new World(day, 1);
    const one = { units: 1, latencyMs: 0, dies: undefined };
    await world.run({ ...one, trouble: "no answers", periods: 115, calls: [3] });
    await world.run({ ...one, trouble: "none", periods: 400, calls: [20] });
    expect(world.total).toBe(LIMIT);
    await world.run({ ...CALM, periods: 800, calls: [] });
    expect(Number.parseFloat(world.state.texts.get("limits demo 1970-01-01") ?? "")).toBe(LIMIT);
  });

  it("book what was spent while the state came back slowly", async () => {
    const world = new World(day, 2);
    const one = { units: 1, latencyMs: 0, dies: undefined };
    await world.run({ ...one, trouble: "none", periods: 1, calls: [0, 1] });
    await world.run({ ...one, trouble: "away", periods: 21, calls: [3, 3] });
    await world.run({ ...one, trouble: "none", periods: 79, calls: [] });
    const slow = { ...one, trouble: "none", latencyMs: 300 } as const;
    await world.run({ ...slow, periods: 34, calls: [0, 1], units: 2 });
    await world.run({ ...CALM, periods: 800, calls: [] });
    expect(Number.parseFloat(world.state.texts.get("limits demo 1970-01-01") ?? "")).toBe(
      world.total,
    );
  });
});
