// The units that one process holds of a limit that several processes share. The process spends only units that it holds,
// and asks the state for more before they are spent. So calls seldom wait, and many calls share one round trip.

import type { Clock } from "../../lib/clock.ts";
import { Outbox } from "../../lib/outbox.ts";
import {
  type Bounds,
  grantOf,
  NOTHING_TAKEN,
  type TakeRequest,
  TokenBucket,
  takenAt,
} from "../../lib/token-bucket.ts";
import type { State, TakeResult } from "../../state/state.ts";

export type ReservationOptions = {
  /** The limit's key in the state. */
  readonly key: string;
  readonly bounds: Bounds;
};

export type ReservationParts = {
  readonly state: Pick<State, "take">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  /** How many processes share the limit, as far as this one knows. */
  readonly members: () => number;
};

/** In milliseconds: how often a process asks again for units of an empty limit, or tries the state after an outage. */
const LOOK_AGAIN_MS = 1000;
/** In milliseconds: for half of this time a process can claim a grant whose answer was lost. */
const KEPT_MS = 3_600_000;
/** In milliseconds: a call waits no longer for a reservation; then the state counts as unreachable. */
export const RESERVATION_TIMEOUT_MS = 1000;

export class Reservation {
  #held = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** The limit is nearly empty: a request before this time would bring very little. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** A bucket of this process alone, used while the state cannot be reached. */
  #local: TokenBucket | undefined;
  /** Units that calls spent while the state could not be reached, and that are not booked in the state yet. */
  #unbooked = 0;
  /** How much of the limit was taken, by the state's last answer; `#seenAtMs` is its time by our clock. */
  #taken = NOTHING_TAKEN;
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #bounds: Bounds;
  /** Whether a request is under way: there is one at a time, and calls that come meanwhile wait for it. */
  #isAsking = false;
  /** The time when the last request began. */
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #coming: Promise<void> = Promise.resolve();
  readonly #outbox: Outbox<TakeRequest, TakeResult>;
  readonly #demand: Demand;
  readonly #parts: ReservationParts;

  constructor({ key, bounds }: ReservationOptions, parts: ReservationParts) {
    this.#bounds = bounds;
    this.#outbox = new Outbox(
      { keptMs: KEPT_MS },
      {
        clock: parts.clock,
        send: (request, id) => parts.state.take(key, request, id),
        onDone: (request, grant) => this.#receive(request, grant),
      },
    );
    this.#demand = new Demand(parts.clock.now());
    this.#parts = parts;
  }

  /** Resolves when the running request has ended or timed out. */
  get coming(): Promise<void> {
    return this.#coming;
  }

  resize(bounds: Bounds): void {
    this.#bounds = bounds;
  }

  /** The units that this process holds, and those that it could get as far as it knows. */
  left(nowMs: number): number {
    return this.#held + Math.max(0, this.#local?.left(nowMs) ?? this.#knownLeft(nowMs));
  }

  lacks(units: number): boolean {
    return units > this.#held;
  }

  take(units: number, nowMs: number): void {
    this.#held -= units;
    this.#usedAtMs = nowMs;
    this.#demand.add(units);
    if (this.#held < this.#demand.lowWater && !this.#isAsking) this.#askAhead(nowMs);
  }

  /** Looks for units that a call lacks. */
  find(units: number, nowMs: number): "enough" | "coming" | "none" {
    this.#usedAtMs = nowMs;
    if (this.#local) return this.#findHere(units - this.#held, nowMs, this.#local);
    const { waitingUnits } = this.#demand;
    if (
      units <= this.left(nowMs) - waitingUnits &&
      (this.#isAsking || nowMs >= this.#pausedUntilMs)
    ) {
      this.#demand.wait(units);
      this.#ask();
      return "coming";
    }
    this.#demand.add(units);
    if (nowMs - this.#seenAtMs >= LOOK_AGAIN_MS) this.#askAhead(nowMs);
    return "none";
  }

  /** To be called once a second. @param idleMs Held units go back after this time without use. */
  maintain(nowMs: number, idleMs: number): void {
    if (this.#local) this.#tryAgain(nowMs);
    else if (this.#unbooked > 0) this.#ask();
    else if (this.#held > 0 && nowMs - this.#usedAtMs >= idleMs) this.#ask("back");
  }

  async close(): Promise<void> {
    await this.#coming;
    if (this.#held > 0 || this.#unbooked > 0) this.#ask("back");
    await this.#coming;
  }

  #knownLeft(nowMs: number): number {
    return this.#bounds.size - takenAt(this.#taken, this.#bounds, nowMs);
  }

  #findHere(missing: number, nowMs: number, local: TokenBucket): "enough" | "none" {
    this.#tryAgain(nowMs);
    if (!local.take(missing, nowMs)) return "none";
    this.#held += missing;
    this.#unbooked += missing;
    return "enough";
  }

  #tryAgain(nowMs: number): void {
    if (nowMs - this.#triedAtMs >= LOOK_AGAIN_MS) this.#ask();
  }

  #askAhead(nowMs: number): void {
    if (!this.#local && nowMs >= this.#pausedUntilMs) this.#ask();
  }

  #ask(direction: "forth" | "back" = "forth"): void {
    if (this.#isAsking) return;
    const { clock } = this.#parts;
    this.#isAsking = true;
    this.#triedAtMs = clock.now();
    const timeout = Promise.withResolvers<void>();
    const cancel = clock.after(RESERVATION_TIMEOUT_MS, () => {
      this.#lose();
      timeout.resolve();
    });
    // The request is made one microtask later, so that it covers all calls that wait by then.
    const ended = Promise.resolve()
      .then(() => this.#outbox.send(() => this.#requestOf(direction)))
      .catch(() => this.#lose())
      .then(() => {
        cancel();
        this.#isAsking = false;
        this.#demand.ended(clock.now(), mostOf(this.#bounds));
      });
    this.#coming = Promise.race([ended, timeout.promise]);
  }

  #requestOf(direction: "forth" | "back"): TakeRequest {
    const bounds = this.#bounds;
    const share = shareOf(bounds, this.#parts.members());
    const common = { bounds, owed: this.#unbooked, share };
    if (direction === "forth") {
      const asked = this.#demand.wanted(this.#held, this.#parts.clock.now(), mostOf(bounds));
      return { ...common, ...asked, returned: 0 };
    }
    const returned = this.#held;
    this.#held = 0;
    return { ...common, returned, least: 0, wanted: 0 };
  }

  #receive({ owed, wanted }: TakeRequest, { granted, left }: TakeResult): void {
    const nowMs = this.#parts.clock.now();
    this.#taken = { units: this.#bounds.size - left, atMs: nowMs };
    this.#seenAtMs = nowMs;
    this.#unbooked -= owed;
    // Unbooked units that the process spent while this grant was on its way are paid from the grant.
    const spent = Math.min(granted, this.#unbooked);
    this.#unbooked -= spent;
    this.#held += granted - spent;
    this.#local = undefined;
    // A rate that gave less than wanted has more to give a moment later.
    if (granted < wanted) this.#pausedUntilMs = nowMs + pauseMsOf(this.#bounds, left);
  }

  /** To be called when the state cannot be reached: from now on this process spends its part of the units left. */
  #lose(): void {
    const nowMs = this.#parts.clock.now();
    const known = this.#knownLeft(nowMs);
    const { unanswered } = this.#outbox;
    // The unanswered request will be repeated: its debt and its grant are set aside, so that no unit is spent twice.
    const unclear = unanswered ? unanswered.owed + grantOf(known, unanswered) : 0;
    const options = { bounds: this.#bounds, left: known - unclear, members: this.#parts.members() };
    this.#local ??= localShare(options, nowMs);
  }
}

/**
 * This process's part of a limit while the state cannot be reached.
 * @param options.left The units that were left for all members together, as far as is known.
 */
function localShare(
  { bounds, left, members }: { bounds: Bounds; left: number; members: number },
  nowMs: number,
): TokenBucket {
  const share = { size: bounds.size / members, perSecond: bounds.perSecond / members };
  return new TokenBucket(share, nowMs, Math.max(0, left) / members);
}

/** In milliseconds: the bounds of the pause before an emptied rate is asked again. */
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/** The units per second that a limit can give in the long run; a quota may give all its units at once. */
const mostOf = ({ perSecond }: Bounds): number => perSecond || Number.POSITIVE_INFINITY;

/** The share of the units left that one process may take, so that no process holds much of a quota near its end. */
function shareOf({ perSecond }: Bounds, members: number): number {
  if (members <= 1) return 1;
  // A process that takes only this share of a rate must come again before the burst is full.
  return perSecond > 0 ? Math.max(1 / 4, 1 / members) : 1 / (2 * members);
}

/** How long an emptied rate is not asked, in milliseconds; 0 when a request is worth it at once. */
function pauseMsOf({ size, perSecond }: Bounds, left: number): number {
  if (perSecond === 0) return 0;
  const eighthMs = ((size / perSecond) * 1000) / 8;
  const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, eighthMs));
  return left < (perSecond * pauseMs) / 1000 ? pauseMs : 0;
}

/** How long the units of a reservation should last. The process asks for more when half of them are spent. */
const RESERVATION_MS = 200;

/** Measures how much a process needs of one limit, so that it reserves enough for the next 200 ms and no more. */
class Demand {
  #askedUnits = 0;
  #calls = 0;
  /** The start of the measurement, which lasts RESERVATION_MS at least: a batch must not look like a steady stream. */
  #sinceMs: number;
  /** Units per millisecond in the measurement before. */
  #before = 0;
  /** The units of the calls that wait for the reservation. */
  waitingUnits = 0;
  #leastWaiting = Number.POSITIVE_INFINITY;
  /** The units that a reservation should hold. The target at most doubles from one reservation to the next. */
  #target = 0;
  /** A process that holds less than this asks for more. */
  lowWater = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** To be called when a call took these units, or was refused them. */
  add(units: number): void {
    this.#calls += 1;
    this.#askedUnits += units;
  }

  /** To be called when a call waits for the reservation. */
  wait(units: number): void {
    this.waitingUnits += units;
    this.#leastWaiting = Math.min(this.#leastWaiting, units);
  }

  /** The units to ask for, by a process that holds `held`, of a limit that gives at most `most` a second. */
  wanted(held: number, nowMs: number, most: number): { least: number; wanted: number } {
    const waiting = this.waitingUnits;
    const lookMs = nowMs - this.#sinceMs;
    const before = lookMs > 2 * RESERVATION_MS ? 0 : this.#before;
    const perMs = Math.max(before, this.#askedUnits / Math.max(lookMs, RESERVATION_MS));
    const steady = Math.min(perMs, most / 1000) * RESERVATION_MS;
    const target = Math.min(steady, 2 * this.#target + waiting);
    const least = waiting > 0 ? Math.max(0, this.#leastWaiting - held) : 0;
    return { least, wanted: Math.ceil(Math.max(target, waiting) - held) };
  }

  /** To be called when the reservation has ended: calls that still wait ask again. */
  ended(nowMs: number, most: number): void {
    const { wanted } = this.wanted(0, nowMs, most);
    this.#target = wanted;
    // For an occasional call no units are reserved ahead: they would only go back unused.
    this.lowWater = this.#calls > 1 ? wanted / 2 : 0;
    this.waitingUnits = 0;
    this.#leastWaiting = Number.POSITIVE_INFINITY;
    const lookMs = nowMs - this.#sinceMs;
    if (lookMs < RESERVATION_MS) return;
    this.#before = this.#askedUnits / lookMs;
    this.#calls = 0;
    this.#askedUnits = 0;
    this.#sinceMs = nowMs;
  }
}
