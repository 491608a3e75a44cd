// The one calendar, in UTC: days such as `2026-11-21` and months such as `2026-11`, whose texts sort in the order of
// time. Wall times are in milliseconds since 1970.

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** A day or a month. */
export type CalendarPeriod = {
  /** A text such as `2026-11-21` or `2026-11`. */
  readonly label: string;
  readonly beginsAtMs: number;
  /** The time at which the next period begins. */
  readonly endsAtMs: number;
};

export type PeriodKind = "day" | "month";

/** The day or the month that a wall time is in. */
export function periodAt(kind: PeriodKind, wallMs: number): CalendarPeriod {
  const day = dayOf(wallMs);
  if (kind === "day") {
    const beginsAtMs = startOfDay(day);
    return { label: day, beginsAtMs, endsAtMs: beginsAtMs + DAY_MS };
  }
  const beginsAtMs = startOfDay(firstOfMonth(day));
  // 31 days after the first of any month is one of the first days of the next month.
  const endsAtMs = startOfDay(firstOfMonth(dayOf(beginsAtMs + 31 * DAY_MS)));
  return { label: monthOf(day), beginsAtMs, endsAtMs };
}

/** Whether the period ended so long ago that no gateway still counts under its label, even if its clock is hours late. */
export const isLongOver = (label: string, wallMs: number): boolean =>
  label.length === "2026-11".length
    ? label < monthOf(dayOf(wallMs - 32 * DAY_MS))
    : label < dayOf(wallMs - 2 * DAY_MS);

/** The day of a wall time. */
export const dayOf = (wallMs: number): string => isoText(wallMs).slice(0, "2026-11-21".length);

/** The hour of its day that a wall time is in: 00 to 23. */
export const hourOf = (wallMs: number): string => isoText(wallMs).slice(11, 13);

const monthOf = (day: string): string => day.slice(0, "2026-11".length);

const firstOfMonth = (day: string): string => `${monthOf(day)}-01`;

/** A wall time as `2026-11-21T10:00:00.000Z`. */
export const isoText = (wallMs: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: this writes a given time, it does not ask for it.
  new Date(wallMs).toISOString();

/** A wall time as HTTP writes it (RFC 9110), in whole seconds. */
export const httpDate = (wallMs: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: this writes a given time, it does not ask for it.
  new Date(wallMs).toUTCString();

/** The wall time in an ISO or HTTP date; NaN for any other text. */
export const readTime = (text: string): number =>
  // biome-ignore lint/style/noRestrictedGlobals: this reads a text, not the clock.
  Date.parse(text);

export type DayRange = { readonly from: string; readonly to: string };

export type ReadRange =
  | ({ readonly kind: "days" } & DayRange)
  | { readonly kind: "mistake"; readonly field: "from" | "to"; readonly why: string };

/**
 * The days that a caller asks for, both ends included. Without `to` the range ends today; without `from` the range
 * begins with the first day of the month in which it ends.
 *
 * @param options.mostDays The largest number of days in one range.
 */
export function readRange(
  wanted: { readonly from?: string | undefined; readonly to?: string | undefined },
  options: { readonly wallTimeMs: number; readonly mostDays: number },
): ReadRange {
  const { to = dayOf(options.wallTimeMs) } = wanted;
  if (Number.isNaN(startOfDay(to))) return mistake("to", WANT_DAY);
  const { from = firstOfMonth(to) } = wanted;
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

/** The wall time at which the day begins; NaN for a text that is no day. */
function startOfDay(day: string): number {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return Number.NaN;
  const startMs = readTime(`${day}T00:00:00Z`);
  // Date.parse reads 2026-02-30 as a day of March.
  return Number.isNaN(startMs) || dayOf(startMs) !== day ? Number.NaN : startMs;
}

const WANT_DAY = "want a UTC day such as 2026-11-21";

const mistake = (field: "from" | "to", why: string): ReadRange => ({ kind: "mistake", field, why });
