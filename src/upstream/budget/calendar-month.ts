// Calendar months, UTC, by plain counting: vendors bill by them.

export type CalendarMonth = {
  /** Such as `2026-01`. */
  readonly label: string;
  readonly beginsAtMs: number;
  /** When the next one begins. */
  readonly endsAtMs: number;
};

const DAY_MS = 86_400_000;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The month that a moment after 1970 is in. */
export function monthAt(wallMs: number): CalendarMonth {
  const day = Math.floor(wallMs / DAY_MS);
  let year = 1970 + Math.floor(day / 366); // never too late, and the right one is near
  while (daysBefore(year + 1) <= day) year += 1;
  let month = 0;
  let firstDay = daysBefore(year);
  while (firstDay + daysIn(year, month) <= day) {
    firstDay += daysIn(year, month);
    month += 1;
  }
  return {
    label: `${year}-${String(month + 1).padStart(2, "0")}`,
    beginsAtMs: firstDay * DAY_MS,
    endsAtMs: (firstDay + daysIn(year, month)) * DAY_MS,
  };
}

/** Days from 1970 until the year begins. */
const daysBefore = (year: number): number =>
  365 * (year - 1970) + leapDaysUntil(year - 1) - leapDaysUntil(1969);

const leapDaysUntil = (year: number): number =>
  Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);

/** @param month January is 0. */
const daysIn = (year: number, month: number): number =>
  (MONTH_DAYS[month] ?? 31) + (month === 1 ? leapDaysUntil(year) - leapDaysUntil(year - 1) : 0);
