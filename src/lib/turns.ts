// Long work is a pure generator that pauses now and then. The caller does it at once, or in turns: all long work together
// takes a few milliseconds of each turn of the event loop, one piece after the other, so that a small call never waits
// for many large calls.
import type { Clock } from "./clock.ts";

/** Long work. Each `yield` is a pause, without a value. */
export type Work<Result> = Generator<void, Result, void>;

/** The number of small items between two pauses: they take well under a millisecond. */
const STEP = 64;

/** Calls `look` for each item, with pauses. */
export function* eachInSteps<Item>(
  items: ArrayLike<Item>,
  look: (item: Item, index: number) => void,
): Work<void> {
  for (let index = 0; index < items.length; index += 1) {
    if (index % STEP === STEP - 1) yield;
    look(items[index] as Item, index);
  }
}

/** Does the work without pauses. @throws The error of the work. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Does the work at once while the turn lasts, and the rest in later turns. @throws The error of the work. */
export function doFrom<Result>(
  work: Work<Result>,
  turns: Pick<Turns, "join" | "next">,
): Result | Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (turns.join() === "over") return turns.next().then(() => doFrom(work, turns));
  }
}

/** The time that all long work together takes of one turn of the event loop, in milliseconds. */
const TURN_MS = 4;

export class Turns {
  /** The time at which the current turn ends; undefined while there is no long work. */
  #endsAt: number | undefined;
  /** The works that wait; each turn begins with the first of them. */
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Pick<Clock, "now" | "yield">;

  constructor(parts: { readonly clock: Pick<Clock, "now" | "yield"> }) {
    this.#clock = parts.clock;
  }

  /** Joins the current turn, or begins a turn. When the turn is over, work that can pause calls `next`. */
  join(): "on" | "over" {
    if (this.#endsAt === undefined) this.#begin();
    return this.#isOver ? "over" : "on";
  }

  /** As `join`, for work that begins: new work does not overtake waiting work. */
  enter(): "on" | "over" {
    return this.#waiting.length > 0 ? "over" : this.join();
  }

  /**
   * Resolves in a later turn.
   *
   * @param place Behind all waiting work, or before it: work that holds much memory until its end goes first.
   */
  next(place: "last" | "first" = "last"): Promise<void> {
    if (this.#endsAt === undefined) this.#begin();
    return new Promise((resolve) => {
      if (place === "last") this.#waiting.push(resolve);
      else this.#waiting.unshift(resolve);
    });
  }

  /** Does the work, with pauses: its first slice at once, so that short work waits for no other. @throws Its error. */
  async do<Result>(work: Work<Result>): Promise<Result> {
    if (this.#endsAt === undefined) this.#begin();
    return doFrom(work, this);
  }

  get #isOver(): boolean {
    return this.#clock.now() >= (this.#endsAt ?? 0);
  }

  #begin(): void {
    this.#endsAt = this.#clock.now() + TURN_MS;
    void this.#clock.yield().then(() => this.#end());
  }

  #end(): void {
    this.#endsAt = undefined;
    const goOn = this.#waiting.shift();
    if (!goOn) return;
    this.#begin();
    goOn();
  }
}

/** The number of turns in which begun work goes before other work. */
const FIRST_TURNS = 16;

/**
 * The turns of one thing that takes several pieces of work. A begun thing goes before others, so that few things are
 * under way at the same time; after `FIRST_TURNS` turns it waits in line as all others do.
 */
export function turnsOfOne(turns: Pick<Turns, "enter" | "join" | "next">): Pick<Turns, "do"> {
  let taken = 0;
  const next = (): Promise<void> => {
    taken += 1;
    return turns.next(taken <= FIRST_TURNS ? "first" : "last");
  };
  let isBegun = false;
  return {
    do: async (work) => {
      if (turns.enter() === "over") await (isBegun ? next() : turns.next());
      isBegun = true;
      return doFrom(work, { join: () => turns.join(), next });
    },
  };
}
