// Processes for tests, with clocks of their own over one state, which may be slow, away, or lose answers.

import {
  type LimitSettings,
  type Meter,
  Meters,
  type MetersParts,
} from "../../src/access/limits/meter.ts";
import type { RateLimit } from "../../src/jsonrpc/rpc-error.ts";
import type { Clock } from "../../src/lib/clock.ts";

export type FakeProcess = {
  readonly meter: Meter;
  readonly meters: Meters;
  /** Charges units, and counts whether they were granted. */
  readonly ask: (units: number) => void;
  /** Ends the process: it returns nothing to the state, and takes nothing more. */
  readonly die: () => void;
  taken: number;
  refused: number;
  waiting: number;
};

export type FakeProcessOptions = {
  readonly id: string;
  readonly settings: LimitSettings;
  readonly isAlone?: boolean;
  /** The difference between its clock and the true time. */
  readonly skewMs?: number;
};

export function startFakeProcess(
  { id, settings, isAlone = false, skewMs = 0 }: FakeProcessOptions,
  parts: { clock: Pick<Clock, "now" | "wallTime" | "after">; state: MetersParts["state"] },
): FakeProcess {
  const clock = {
    now: () => parts.clock.now() + 7 * skewMs, // its monotonic clock has another origin, too
    wallTime: () => parts.clock.wallTime() + skewMs,
    after: (ms: number, task: () => void) => parts.clock.after(ms, task),
  };
  let isDead = false;
  const never = new Promise<never>(() => undefined);
  const whileAlive =
    <Args extends unknown[], Value>(what: (...args: Args) => Promise<Value>) =>
    (...args: Args): Promise<Value> =>
      isDead ? never : what(...args);
  const { state: shared } = parts;
  const state: MetersParts["state"] = {
    list: whileAlive((...all) => shared.list(...all)),
    take: whileAlive((...all) => shared.take(...all)),
    update: whileAlive((...all) => shared.update(...all)),
  };
  const meters = new Meters({ memberId: id, isAlone }, { state, clock });
  void meters.start();
  const meter = meters.of("demo", settings);
  const die = (): void => {
    isDead = true;
  };
  const told: FakeProcess = { meter, meters, ask, die, taken: 0, refused: 0, waiting: 0 };
  const count = (units: number, isTaken: boolean): void => {
    if (isTaken) told.taken += units;
    else told.refused += units;
  };
  function ask(units: number): void {
    const short = meter.charge(units, clock.now());
    if (!(short instanceof Promise)) {
      count(units, short === undefined);
      return;
    }
    told.waiting += 1;
    const ended = (late: RateLimit | undefined): void => {
      if (isDead) return;
      told.waiting -= 1;
      count(units, late === undefined);
    };
    void short.then(ended);
  }
  return told;
}

type MovedClock = { advance(ms: number): Promise<void> };

/** Lets time pass in steps shorter than a round trip, so that events do not all come at once. */
export async function pass(clock: MovedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2) await clock.advance(2);
}
