// Long computations in steps: done at once, or in turns between which others get theirs. What computes
// is a generator that pauses now and then, and stays pure.
import type { Clock } from "./clock.ts";

/** It yields nothing: only the chance to do something else. */
export type Work<Result> = Generator<void, Result, void>;

/** After so much work without a pause, others get their turn, in milliseconds. */
const TURN_MS = 4;

/** So many small things are looked at between two pauses: well under a millisecond's work. */
const STEP = 64;

/** Each of the items with its index, with pauses between them. */
export function* eachInSteps<Item>(
  items: readonly Item[],
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

export async function inTurns<Result>(
  work: Work<Result>,
  { clock }: { readonly clock: Pick<Clock, "now" | "yield"> },
): Promise<Result> {
  let turnEndsAt = clock.now() + TURN_MS;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (clock.now() < turnEndsAt) continue;
    await clock.yield();
    turnEndsAt = clock.now() + TURN_MS;
  }
}
