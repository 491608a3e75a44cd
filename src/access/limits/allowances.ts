// The limits that one key has: made when they are configured, and kept while they are.

import type { PeriodKind } from "../../lib/calendar.ts";
import type { Allowance } from "./allowance.ts";
import type { LimitSettings } from "./limit-settings.ts";
import { OwnRate } from "./own-rate.ts";
import { Quota } from "./quota.ts";
import type { RateBounds } from "./rate-short.ts";
import type { ReservationParts } from "./reservation.ts";
import { SharedRate } from "./shared-rate.ts";

export type AllowancesOptions = {
  readonly name: string;
  /** No other process shares the limits: then the rate needs no state. */
  readonly isAlone: boolean;
};

export class Allowances {
  rate: SharedRate | OwnRate | undefined;
  day: Quota | undefined;
  month: Quota | undefined;
  /** Those that there are; the one that lasts longest is told first. */
  all: readonly Allowance[] = [];
  readonly #options: AllowancesOptions;
  readonly #parts: ReservationParts;

  constructor(options: AllowancesOptions, parts: ReservationParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** What was taken stays taken. */
  configure({ rate, computeUnits }: LimitSettings): void {
    this.rate = rate && this.#rateOf(boundsOf(rate));
    this.day = this.#quotaOf("day", computeUnits.perDay, this.day);
    this.month = this.#quotaOf("month", computeUnits.perMonth, this.month);
    const before = this.all;
    this.all = [this.month, this.day, this.rate].filter((each) => each !== undefined);
    for (const each of before) if (!this.all.includes(each)) void each.close();
  }

  #rateOf(bounds: RateBounds): SharedRate | OwnRate {
    const known = this.rate;
    known?.resize(bounds);
    if (known) return known;
    const { name, isAlone } = this.#options;
    if (isAlone) return new OwnRate(bounds, this.#parts);
    return new SharedRate({ name, bounds }, this.#parts);
  }

  #quotaOf(kind: PeriodKind, limit: number | undefined, known?: Quota): Quota | undefined {
    if (limit === undefined) return undefined;
    known?.resize(limit);
    const { name } = this.#options;
    return known ?? new Quota({ name, kind, limit }, this.#parts);
  }
}

const boundsOf = (rate: NonNullable<LimitSettings["rate"]>): RateBounds => ({
  size: rate.burstComputeUnits,
  perSecond: rate.computeUnitsPerSecond,
});
