// Long computations in steps: done at once, or in turns between which others get theirs (`Turns`). What
// computes is a generator that pauses now and then, and stays pure.

/** It yields nothing: only the chance to do something else. */
export type Work<Result> = Generator<void, Result, void>;

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
