// For tests: processes with clocks of their own over one state, which may be slow, away, or lose answers.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Entry } from "../../state/state.ts";
import type { LimitSettings, Meter } from "./meter.ts";
import { Meters, type MetersParts } from "./meters.ts";

export class FakeState {
  readonly texts = new Map<string, string>();
  latencyMs = 0;
  isAway = false;
  /** Changes are made, and nobody is told. */
  losesAnswers = false;
  roundTrips = 0;
  readonly #clock: Pick<Clock, "after">;

  constructor(parts: { clock: Pick<Clock, "after"> }) {
    this.#clock = parts.clock;
  }

  get(key: string): Promise<string | undefined> {
    return this.#answer(() => this.texts.get(key));
  }

  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean> {
    return this.#answer(() => {
      if (this.texts.get(key) !== expected) return false;
      if (next === undefined) this.texts.delete(key);
      else this.texts.set(key, next);
      if (this.losesAnswers) throw new Error("no answer");
      return true;
    });
  }

  list(prefix: string): Promise<readonly Entry[]> {
    return this.#answer(() =>
      [...this.texts]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, text]) => ({ key, text })),
    );
  }

  async #answer<Value>(look: () => Value): Promise<Value> {
    this.roundTrips += 1;
    if (this.isAway) throw new Error("away");
    if (this.latencyMs > 0) await this.#after(this.latencyMs / 2);
    const value = look();
    if (this.latencyMs > 0) await this.#after(this.latencyMs / 2);
    return value;
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve);
    });
  }
}

export type FakeProcess = {
  readonly meter: Meter;
  readonly meters: Meters;
  /** Charges, and counts what was given. */
  readonly ask: (units: number) => void;
  /** Whatever it still does, it gives nothing back and takes nothing more. */
  readonly die: () => void;
  taken: number;
  refused: number;
  waiting: number;
};

export type FakeProcessOptions = {
  readonly id: string;
  readonly settings: LimitSettings;
  readonly isAlone?: boolean;
  /** What its clock shows beside the true time. */
  readonly skewMs?: number;
};

export function startFakeProcess(
  { id, settings, isAlone = false, skewMs = 0 }: FakeProcessOptions,
  parts: { clock: Pick<Clock, "now" | "wallTime" | "after">; state: MetersParts["state"] },
): FakeProcess {
  const clock = {
    now: () => parts.clock.now() + 7 * skewMs, // began to run at another time, too
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
  const state = {
    get: whileAlive((key: string) => shared.get(key)),
    list: whileAlive((prefix: string) => shared.list(prefix)),
    replace: whileAlive((key: string, expected: string | undefined, next: string | undefined) =>
      shared.replace(key, expected, next),
    ),
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

/** Time passes in steps that are shorter than a round trip, or all would come at once. */
export async function pass(clock: MovedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2) await clock.advance(2);
}
