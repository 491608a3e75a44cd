// Days of usage: UTC, written 2026-11-21.

export const DAY_MS = 86_400_000;

export type DayRange = { readonly from: string; readonly to: string };

export type ReadRange =
  | ({ readonly kind: "days" } & DayRange)
  | { readonly kind: "mistake"; readonly field: "from" | "to"; readonly why: string };

/** The UTC day of a wall time. */
export const dayOf = (wallTimeMs: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: this writes a given time, it does not ask for it.
  new Date(wallTimeMs).toISOString().slice(0, "2026-11-21".length);

/** When the day begins, in milliseconds since 1970; NaN for what is no day. */
function startOfDay(day: string): number {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: this reads a text, not the clock.
  const startMs = Date.parse(`${day}T00:00:00Z`);
  // 2026-02-30 is taken for a day of March.
  return Number.isNaN(startMs) || dayOf(startMs) !== day ? Number.NaN : startMs;
}

/**
 * The days that somebody asks for, both ends included. Left out: until today, and from the first day
 * of the month in which the range ends.
 *
 * @param options.mostDays How many days may be asked for at once.
 */
export function readRange(
  wanted: { readonly from?: string | undefined; readonly to?: string | undefined },
  options: { readonly wallTimeMs: number; readonly mostDays: number },
): ReadRange {
  const { to = dayOf(options.wallTimeMs) } = wanted;
  if (Number.isNaN(startOfDay(to))) return mistake("to", WANT_DAY);
  const { from = `${to.slice(0, "2026-11".length)}-01` } = wanted;
  if (Number.isNaN(startOfDay(from))) return mistake("from", WANT_DAY);
  if (from > to) return mistake("from", `${from} is after ${to}, the last day asked for`);
  const days = (startOfDay(to) - startOfDay(from)) / DAY_MS + 1;
  if (days > options.mostDays)
    return mistake("from", `${from} to ${to} are ${days} days, want at most ${options.mostDays}`);
  return { kind: "days", from, to };
}

/** All days of a range, in order. */
export function daysIn({ from, to }: DayRange): string[] {
  const days: string[] = [];
  for (let at = startOfDay(from); at <= startOfDay(to); at += DAY_MS) days.push(dayOf(at));
  return days;
}

const WANT_DAY = "want a UTC day such as 2026-11-21";

const mistake = (field: "from" | "to", why: string): ReadRange => ({ kind: "mistake", field, why });
