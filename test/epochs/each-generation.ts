// One of something for each node generation that runs on this machine.
import { describe } from "vitest";
import { GENERATIONS, type Generation, generationsHere } from "../support/conflux-nodes.ts";

export type Stoppable = { stop(): Promise<void> };

/** Those that do not run here are skipped. */
export function describeEach(title: string, body: (generation: Generation) => void): void {
  const here = generationsHere();
  for (const generation of GENERATIONS)
    describe.skipIf(!here.includes(generation))(`${title} ${generation}`, () => body(generation));
}

/** All at once; when one cannot be started, none is left. */
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
