// What one process holds of a limit that several share. It spends only that, and asks for more before it
// is spent, so that a call seldom waits and no call costs a round trip of its own.

import type { Clock } from "../../lib/clock.ts";
import { Demand } from "./demand.ts";
import { LeaseRequest } from "./lease-request.ts";
import { mostOf, pauseMsOf, shareOf } from "./lease-sizes.ts";
import { LocalShare } from "./local-share.ts";
import { type EntryParts, SharedEntry } from "./shared-entry.ts";
import { type Bounds, grantOf } from "./taken.ts";

export type LeaseOptions = {
  /** Under which the state has it. */
  readonly key: string;
  readonly bounds: Bounds;
  /** Of this process alone. */
  readonly mark: string;
};

export type LeaseParts = EntryParts & {
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  /** How many processes share the limit, as far as is known. */
  readonly members: () => number;
};

/** How often to look again at what was found empty, and whether the state is there again. */
const LOOK_AGAIN_MS = 1000;

export class Lease {
  #held = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** The limit was emptied: asking earlier would bring crumbs. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** Stands in for the state while that is away. */
  #local: LocalShare | undefined;
  /** Spent while the state was away, and not booked there yet. */
  #unbooked = 0;
  readonly #entry: SharedEntry;
  readonly #request: LeaseRequest;
  readonly #demand: Demand;
  readonly #parts: LeaseParts;

  constructor(options: LeaseOptions, parts: LeaseParts) {
    this.#entry = new SharedEntry(options, parts);
    this.#request = new LeaseRequest({
      clock: parts.clock,
      answeredAtMs: () => this.#entry.answeredAtMs,
      onLost: () => this.#lose(),
    });
    this.#demand = new Demand(parts.clock.now());
    this.#parts = parts;
  }

  get coming(): Promise<void> {
    return this.#request.coming;
  }

  resize(bounds: Bounds): void {
    this.#entry.bounds = bounds;
  }

  /** What this process holds, or could have as far as it knows. */
  left(nowMs: number): number {
    return this.#held + Math.max(0, this.#local?.left(nowMs) ?? this.#entry.left(nowMs));
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
    if (nowMs - this.#entry.seenAtMs >= LOOK_AGAIN_MS) this.#askAhead(nowMs);
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

  #findHere(missing: number, nowMs: number, local: LocalShare): "enough" | "none" {
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
    this.#request.begin(this.#move(direction), () =>
      this.#demand.ended(this.#parts.clock.now(), this.#most),
    );
  }

  async #move(direction: "forth" | "back"): Promise<void> {
    const returned = direction === "back" ? this.#held : 0;
    this.#held -= returned;
    let asked = { least: 0, wanted: 0 };
    const moved = await this.#entry.move((left, found) => {
      const owed = Math.max(0, this.#unbooked - found);
      const spare = Math.max(0, found - this.#unbooked);
      const booked = this.#most === Number.POSITIVE_INFINITY ? owed : Math.min(owed, left);
      if (direction === "back") return booked - returned - spare;
      asked = this.#demand.wanted(this.#held + spare, this.#parts.clock.now(), this.#most);
      return booked + grantOf(left - booked, asked, this.#share);
    });
    const received = moved + returned;
    const booked = Math.min(this.#unbooked, received);
    // A rate forgives what has come back meanwhile.
    this.#unbooked = this.#most === Number.POSITIVE_INFINITY ? this.#unbooked - booked : 0;
    this.#held += received - booked;
    this.#local = undefined;
    if (received - booked < asked.wanted) this.#pause(this.#parts.clock.now());
  }

  /** When a limit gives as fast as it can, a moment later there is more to get at once. */
  #pause(nowMs: number): void {
    const pauseMs = pauseMsOf(this.#entry.bounds, this.#entry.left(nowMs));
    if (pauseMs > 0) this.#pausedUntilMs = nowMs + pauseMs;
  }

  /** The state is away: from now on this process has its part of what is known to be left. */
  #lose(): void {
    const nowMs = this.#parts.clock.now();
    const { bounds, unclear } = this.#entry;
    // What may have been taken is found when the state is back: it is not to be spent twice.
    const left = this.#entry.left(nowMs) - unclear;
    this.#local ??= new LocalShare({ bounds, left, members: this.#parts.members() }, nowMs);
  }

  get #most(): number {
    return mostOf(this.#entry.bounds);
  }

  get #share(): number {
    return shareOf(this.#entry.bounds, this.#parts.members());
  }
}
