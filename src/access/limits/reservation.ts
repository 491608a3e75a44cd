// What one process holds of a limit that several share. It spends only that, and asks for more before it
// is spent, so that a call seldom waits and no call costs a round trip of its own.

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
  /** Under which the state has it. */
  readonly key: string;
  readonly bounds: Bounds;
};

export type ReservationParts = {
  readonly state: Pick<State, "take">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  /** How many processes share the limit, as far as is known. */
  readonly members: () => number;
};

/** How often to look again at what was found empty, and whether the state is there again. */
const LOOK_AGAIN_MS = 1000;
/** What was granted longer ago than half of this, and not heard of, is lost to the caller. */
const KEPT_MS = 3_600_000;

export class Reservation {
  #held = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** The limit was emptied: asking earlier would bring crumbs. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** Stands in for the state while that is away. */
  #local: TokenBucket | undefined;
  /** Spent while the state was away, and not booked there yet. */
  #unbooked = 0;
  /** What the state said last, by our clock. */
  #taken = NOTHING_TAKEN;
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #bounds: Bounds;
  readonly #request: ReservationRequest;
  readonly #outbox: Outbox<TakeRequest, TakeResult>;
  readonly #demand: Demand;
  readonly #parts: ReservationParts;

  constructor({ key, bounds }: ReservationOptions, parts: ReservationParts) {
    this.#bounds = bounds;
    this.#request = new ReservationRequest({ clock: parts.clock, onLost: () => this.#lose() });
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

  get coming(): Promise<void> {
    return this.#request.coming;
  }

  resize(bounds: Bounds): void {
    this.#bounds = bounds;
  }

  /** What this process holds, or could have as far as it knows. */
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
    if (this.#held < this.#demand.lowWater && !this.#request.isRunning) this.#askAhead(nowMs);
  }

  /** For units that it lacks. */
  find(units: number, nowMs: number): "enough" | "coming" | "none" {
    this.#usedAtMs = nowMs;
    if (this.#local) return this.#findHere(units - this.#held, nowMs, this.#local);
    const { waitingUnits } = this.#demand;
    if (
      units <= this.left(nowMs) - waitingUnits &&
      (this.#request.isRunning || nowMs >= this.#pausedUntilMs)
    ) {
      this.#demand.wait(units);
      this.#ask();
      return "coming";
    }
    this.#demand.add(units);
    if (nowMs - this.#seenAtMs >= LOOK_AGAIN_MS) this.#askAhead(nowMs);
    return "none";
  }

  /** Once a second. @param idleMs What is held goes back when it was not used for so long. */
  tend(nowMs: number, idleMs: number): void {
    if (this.#local) this.#tryAgain(nowMs);
    else if (this.#unbooked > 0) this.#ask();
    else if (this.#held > 0 && nowMs - this.#usedAtMs >= idleMs) this.#ask("back");
  }

  async close(): Promise<void> {
    await this.#request.coming;
    if (this.#held > 0 || this.#unbooked > 0) this.#ask("back");
    await this.#request.coming;
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
    if (nowMs - this.#request.triedAtMs >= LOOK_AGAIN_MS) this.#ask();
  }

  #askAhead(nowMs: number): void {
    if (!this.#local && nowMs >= this.#pausedUntilMs) this.#ask();
  }

  #ask(direction: "forth" | "back" = "forth"): void {
    if (this.#request.isRunning) return;
    // A moment later, so that it asks for all calls that wait by then.
    const request = Promise.resolve().then(() =>
      this.#outbox.send(() => this.#requestOf(direction)),
    );
    this.#request.begin(request, () =>
      this.#demand.ended(this.#parts.clock.now(), mostOf(this.#bounds)),
    );
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
    // Asked before the state was away, and spent since.
    const spent = Math.min(granted, this.#unbooked);
    this.#unbooked -= spent;
    this.#held += granted - spent;
    this.#local = undefined;
    // When a limit gives as fast as it can, a moment later there is more to get at once.
    if (granted < wanted) this.#pausedUntilMs = nowMs + pauseMsOf(this.#bounds, left);
  }

  /** The state is away: from now on this process has its part of what is known to be left. */
  #lose(): void {
    const nowMs = this.#parts.clock.now();
    const known = this.#knownLeft(nowMs);
    const { unanswered } = this.#outbox;
    // What may have been granted is told when the state is back: it is not to be spent twice.
    const unclear = unanswered ? unanswered.owed + grantOf(known, unanswered) : 0;
    const options = { bounds: this.#bounds, left: known - unclear, members: this.#parts.members() };
    this.#local ??= localShare(options, nowMs);
  }
}

/**
 * This process's part of a limit while the state is away.
 *
 * @param options.left What is known to be left of the whole, for all members together.
 */
function localShare(
  { bounds, left, members }: { bounds: Bounds; left: number; members: number },
  nowMs: number,
): TokenBucket {
  const share = { size: bounds.size / members, perSecond: bounds.perSecond / members };
  return new TokenBucket(share, nowMs, Math.max(0, left) / members);
}

/** At most so often a limit is asked that gives as fast as it can. */
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/** What the limit gives in the long run: a rate that, a quota all that it has. */
const mostOf = ({ perSecond }: Bounds): number => perSecond || Number.POSITIVE_INFINITY;

/** So much of what is left one may take: a quota comes to its end with nobody holding much of it. */
function shareOf({ perSecond }: Bounds, members: number): number {
  if (members <= 1) return 1;
  // A rate's burst must not fill up before one who takes only so much of it comes again.
  return perSecond > 0 ? Math.max(1 / 4, 1 / members) : 1 / (2 * members);
}

/** How long a rate that was emptied is left alone; 0 when it is worth asking at once. */
function pauseMsOf({ size, perSecond }: Bounds, left: number): number {
  if (perSecond === 0) return 0;
  const eighthMs = ((size / perSecond) * 1000) / 8;
  const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, eighthMs));
  return left < (perSecond * pauseMs) / 1000 ? pauseMs : 0;
}

type ReservationRequestParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  /** The state is silent, or refused: it counts as away. */
  readonly onLost: () => void;
};

/** Longer no call waits for a reservation: then the state counts as away. */
const TIMEOUT_MS = 1000;

/** What one process asks of a limit: one request at a time, which calls that come meanwhile wait for. */
class ReservationRequest {
  isRunning = false;
  /** When the last one began. */
  triedAtMs = Number.NEGATIVE_INFINITY;
  /** Resolves when the one that is under way has ended, or nobody is to wait for it any longer. */
  coming: Promise<void> = Promise.resolve();
  readonly #parts: ReservationRequestParts;

  constructor(parts: ReservationRequestParts) {
    this.#parts = parts;
  }

  /** Only while none is running. */
  begin(request: Promise<void>, onEnd: () => void): void {
    const { clock, onLost } = this.#parts;
    this.isRunning = true;
    this.triedAtMs = clock.now();
    this.coming = new Promise((resolve) => {
      const cancel = clock.after(TIMEOUT_MS, () => {
        onLost();
        resolve();
      });
      const ended = (): void => {
        cancel();
        this.isRunning = false;
        onEnd();
        resolve();
      };
      request.then(ended, () => {
        onLost();
        ended();
      });
    });
  }
}

/** For how long a reservation should last. The next one is asked for when half of it is gone. */
const RESERVATION_MS = 200;

/** How much a process asks of one limit: so that it reserves what it needs for the next moments, and no more. */
class Demand {
  #askedUnits = 0;
  #calls = 0;
  /** A look lasts as long as a reservation at least: shorter ones take a batch for a stream. */
  #sinceMs: number;
  /** Units a millisecond, of the look before. */
  #before = 0;
  #waitingUnits = 0;
  #leastWaiting = Number.POSITIVE_INFINITY;
  /** What a reservation should hold; grows to the double at most from one reservation to the next. */
  #target = 0;
  /** A process that holds less asks ahead. */
  lowWater = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A call took so much, or was refused it. */
  add(units: number): void {
    this.#calls += 1;
    this.#askedUnits += units;
  }

  /** A call waits for the reservation. */
  wait(units: number): void {
    this.#waitingUnits += units;
    this.#leastWaiting = Math.min(this.#leastWaiting, units);
  }

  get waitingUnits(): number {
    return this.#waitingUnits;
  }

  /** What to ask for, holding `held`, of a limit that gives `most` in the long run. */
  wanted(held: number, nowMs: number, most: number): { least: number; wanted: number } {
    const waiting = this.#waitingUnits;
    const lookMs = nowMs - this.#sinceMs;
    const before = lookMs > 2 * RESERVATION_MS ? 0 : this.#before;
    const perMs = Math.max(before, this.#askedUnits / Math.max(lookMs, RESERVATION_MS));
    const steady = Math.min(perMs, most / 1000) * RESERVATION_MS;
    const target = Math.min(steady, 2 * this.#target + waiting);
    const least = waiting > 0 ? Math.max(0, this.#leastWaiting - held) : 0;
    return { least, wanted: Math.ceil(Math.max(target, waiting) - held) };
  }

  /** The reservation has ended: who still waits asks again. */
  ended(nowMs: number, most: number): void {
    const { wanted } = this.wanted(0, nowMs, most);
    this.#target = wanted;
    // A call now and then is not worth a reservation ahead, which would only go back unused.
    this.lowWater = this.#calls > 1 ? wanted / 2 : 0;
    this.#waitingUnits = 0;
    this.#leastWaiting = Number.POSITIVE_INFINITY;
    const lookMs = nowMs - this.#sinceMs;
    if (lookMs < RESERVATION_MS) return;
    this.#before = this.#askedUnits / lookMs;
    this.#calls = 0;
    this.#askedUnits = 0;
    this.#sinceMs = nowMs;
  }
}
