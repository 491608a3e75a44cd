// Removes usage that is too old from the state: once a day, and when fewer days are to be kept.

import { DAY_MS, dayOf, daysIn } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";

type Parts = { readonly state: Pick<State, "list" | "replace">; readonly clock: Clock };

/** Also how soon after the start the first look is taken. */
const LOOK_EVERY_MS = 60_000;

/** No gateway counted before. */
const FIRST_YEAR = 2025;

/** Until the signal ends it. */
export async function keepRemovingOldUsage(
  { keptDays, signal }: { readonly keptDays: () => number; readonly signal: AbortSignal },
  parts: Parts,
): Promise<void> {
  const { clock } = parts;
  let removedBefore = "";
  while (await sleptFully(clock.sleep(LOOK_EVERY_MS, signal))) {
    const firstKept = dayOf(clock.wallTime() - (keptDays() - 1) * DAY_MS);
    if (firstKept === removedBefore) continue;
    try {
      await removeUsageBefore(firstKept, { ...parts, signal });
      removedBefore = firstKept;
    } catch {
      // The state is away: at the next look.
    }
  }
}

/** Several members may do so at once: what is gone is gone. */
async function removeUsageBefore(
  firstKept: string,
  { state, clock, signal }: Parts & { readonly signal: AbortSignal },
): Promise<void> {
  for (const prefix of prefixesBefore(firstKept)) {
    for (const { key, text } of await state.list(`usage ${prefix}`)) {
      if (signal.aborted) return;
      await state.replace(key, text, undefined);
    }
    await clock.yield();
  }
}

/** All days before, by whole years and months: nearly all of these lists are empty. */
export function prefixesBefore(day: string): string[] {
  const [year = "", month = ""] = day.split("-");
  const years = numbered(FIRST_YEAR, Number(year));
  const months = numbered(1, Number(month)).map(
    (each) => `${year}-${String(each).padStart(2, "0")}`,
  );
  const days = daysIn({ from: `${year}-${month}-01`, to: day }).slice(0, -1);
  return [...years.map((each) => `${each}-`), ...months.map((each) => `${each}-`), ...days];
}

const numbered = (from: number, before: number): number[] =>
  Array.from({ length: Math.max(0, before - from) }, (_, index) => from + index);

/** false when it was ended before its time. */
export const sleptFully = (sleep: Promise<void>): Promise<boolean> =>
  sleep.then(
    () => true,
    () => false,
  );
