// Helpers that do something for each node generation of this machine.
import { describe } from "vitest";
import { GENERATIONS, type Generation, generationsHere } from "../support/conflux-nodes.ts";

export type Stoppable = { stop(): Promise<void> };

/** Describes tests for each generation; those that do not run on this machine are skipped. */
export function describeEach(title: string, body: (generation: Generation) => void): void {
  const here = generationsHere();
  for (const generation of GENERATIONS)
    describe.skipIf(!here.includes(generation))(`${title} ${generation}`, () => body(generation));
}

/** Starts all generations at once; when one fails, stops the others. */
export async function startEach<Started extends Stoppable>(
  start: (generation: Generation) => Promise<Started>,
): Promise<ReadonlyMap<Generation, Started>> {
  const started = new Map<Generation, Started>();
  const outcomes = await Promise.allSettled(
    generationsHere().map(async (generation) => started.set(generation, await start(generation))),
  );
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (!failed) return started;
  await stopEach(started);
  throw failed.reason;
}

export async function stopEach(started: ReadonlyMap<Generation, Stoppable>): Promise<void> {
  await Promise.all([...started.values()].map((each) => each.stop()));
}
