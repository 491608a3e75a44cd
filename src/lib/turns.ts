// Long work in slices: a generator that pauses now and then, and stays pure. It is done at once, or in turns:
// all of it together takes a few milliseconds of each turn of the event loop, one piece of work after the
// other, so that a small question is never behind many large ones.
import type { Clock } from "./clock.ts";

/** It yields nothing: only the chance to do something else. */
export type Work<Result> = Generator<void, Result, void>;

/** So many small things are looked at between two pauses: well under a millisecond's work. */
const STEP = 64;

/** Each of the items with its index, with pauses between them. */
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

/** Does the work at once while the turn lasts, and else goes on in turns. @throws What the work throws. */
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

/** What all slices of one turn take together, in milliseconds. */
const TURN_MS = 4;

export class Turns {
  /** When the turn that is under way has to end; undefined while no long work is done. */
  #endsAt: number | undefined;
  /** One of them goes on in each turn. */
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Pick<Clock, "now" | "yield">;

  constructor(parts: { readonly clock: Pick<Clock, "now" | "yield"> }) {
    this.#clock = parts.clock;
  }

  /** Work takes part in the turn that is under way, or begins one. When it is over, what can pause calls `next`. */
  join(): "on" | "over" {
    if (this.#endsAt === undefined) this.#begin();
    return this.#isOver ? "over" : "on";
  }

  /** The same for work that begins: it is not before what waits already. */
  enter(): "on" | "over" {
    return this.#waiting.length > 0 ? "over" : this.join();
  }

  /**
   * Resolves in a turn of its own, and not at once.
   *
   * @param place Behind all that waits; or before it, for what holds much memory until it is done.
   */
  next(place: "last" | "first" = "last"): Promise<void> {
    if (this.#endsAt === undefined) this.#begin();
    return new Promise((resolve) => {
      if (place === "last") this.#waiting.push(resolve);
      else this.#waiting.unshift(resolve);
    });
  }

  /**
   * Does the work, with pauses where the turn is over. It begins at once, so that what is short is not
   * behind what is long.
   *
   * @throws What the work throws.
   */
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
