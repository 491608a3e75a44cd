// Brings what was counted into the state, many entries in one step. Safe to be cut off anywhere.
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";
import type { DayUsage } from "./day-usage.ts";

/** Entries in one change: others get a turn between two. */
const BATCH = 100;

/** How often a change is made when something else was there: another write of this entry arrives late at most. */
const TRIES = 3;

/** @throws When the state is away. */
export async function writeUsage(
  days: readonly DayUsage[],
  parts: { state: Pick<State, "get" | "change">; clock: Pick<Clock, "yield"> },
): Promise<void> {
  for (let start = 0; start < days.length; start += BATCH) {
    const batch = days.slice(start, start + BATCH);
    let tries = 1;
    while (!(await isTaken(batch, parts.state)) && tries < TRIES) tries += 1;
    await parts.clock.yield();
  }
}

async function isTaken(
  batch: readonly DayUsage[],
  state: Pick<State, "get" | "change">,
): Promise<boolean> {
  const unsure = batch.filter(({ isSure }) => !isSure);
  await Promise.all(unsure.map(async (day) => day.found(await state.get(day.entryKey))));
  const changes = batch.map((day) => day.propose());
  try {
    const isWritten = await state.change(changes);
    for (const day of batch) isWritten ? day.written() : day.refused();
    return isWritten;
  } catch (error) {
    for (const day of batch) day.unknown();
    throw error;
  }
}
