// Long work in slices: a pure generator that pauses now and then. It is done at once, or in turns: all long work together
// takes a few milliseconds of each turn of the event loop, one piece after the other, so that a small question never waits
// for many large ones.
import type { Clock } from "./clock.ts";

/** A pause yields no value. */
export type Work<Result> = Generator<void, Result, void>;

/** So many small items are looked at between two pauses, in well under a millisecond. */
const STEP = 64;

/** Looks at each item, with pauses. */
export function* eachInSteps<Item>(
  items: ArrayLike<Item>,
  look: (item: Item, index: number) => void,
): Work<void> {
  for (let index = 0; index < items.length; index += 1) {
    if (index % STEP === STEP - 1) yield;
    look(items[index] as Item, index);
  }
}

export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Works at once while the turn lasts, then goes on in later turns. @throws What the work throws. */
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

/** What all long work together takes of one turn, in milliseconds. */
const TURN_MS = 4;

export class Turns {
  /** When the current turn ends; undefined while there is no long work. */
  #endsAt: number | undefined;
  /** Each turn lets one of them go on. */
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Pick<Clock, "now" | "yield">;

  constructor(parts: { readonly clock: Pick<Clock, "now" | "yield"> }) {
    this.#clock = parts.clock;
  }

  /** Joins the current turn, or begins one. When the turn is over, work that can pause calls `next`. */
  join(): "on" | "over" {
    if (this.#endsAt === undefined) this.#begin();
    return this.#isOver ? "over" : "on";
  }

  /** As `join`, for work that begins: it does not overtake work that waits. */
  enter(): "on" | "over" {
    return this.#waiting.length > 0 ? "over" : this.join();
  }

  /**
   * Resolves in a later turn.
   *
   * @param place Behind all work that waits, or before it: work that holds much memory until it is done goes first.
   */
  next(place: "last" | "first" = "last"): Promise<void> {
    if (this.#endsAt === undefined) this.#begin();
    return new Promise((resolve) => {
      if (place === "last") this.#waiting.push(resolve);
      else this.#waiting.unshift(resolve);
    });
  }

  /** Does the work, with pauses. It begins at once, so that short work does not wait for long work. @throws What the work throws. */
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

/** How many turns work that was begun goes before others. */
const FIRST_TURNS = 16;

/**
 * The turns of one thing that takes several pieces of work: once begun it goes before others, so that few are begun at
 * the same time. One that takes long goes on as all others do.
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
