// Writes figures and times in the reader's language and time zone. Pure.

export const NOTHING = "–";

/** 1234567 → 1,234,567. */
export const wholeText = (value: number | undefined): string =>
  value === undefined ? NOTHING : Math.round(value).toLocaleString();

/** 1 node, 2 nodes. */
export const countText = (count: number, what: string): string =>
  `${wholeText(count)} ${what}${count === 1 ? "" : "s"}`;

/** Few digits: 0.42, 4.2, 42, 4,200. */
export function figureText(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NOTHING;
  const digits = Math.abs(value) >= 10 || value === 0 ? 0 : Math.abs(value) >= 1 ? 1 : 2;
  return value.toLocaleString(undefined, { maximumFractionDigits: digits });
}

/** A part of a whole, in percent: 51 %. */
export const shareText = (part: number, whole: number): string =>
  whole > 0 ? `${Math.round((100 * part) / whole)} %` : NOTHING;

/** Milliseconds in ms or s: 0.5 ms, 147 ms, 2.3 s. */
export function msText(ms: number | undefined): string {
  if (ms === undefined) return NOTHING;
  return ms < 1_000 ? `${figureText(ms)} ms` : `${figureText(ms / 1_000)} s`;
}

/** Seconds in larger units: 3 s, 2 m 10 s, 4 h 5 m, 3 d. */
export function secondsText(seconds: number | undefined): string {
  if (seconds === undefined) return NOTHING;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return two(whole, 60, "m", 1, "s");
  if (whole < 86_400) return two(whole, 3_600, "h", 60, "m");
  return two(whole, 86_400, "d", 3_600, "h");
}

function two(value: number, large: number, largeUnit: string, small: number, unit: string): string {
  const rest = Math.floor((value % large) / small);
  return `${Math.floor(value / large)} ${largeUnit}${rest > 0 ? ` ${rest} ${unit}` : ""}`;
}

/** Bytes in larger units: 512 B, 1.5 KiB, 20 MiB. */
export function bytesText(bytes: number | undefined): string {
  if (bytes === undefined) return NOTHING;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${figureText(bytes / 1024 ** step)} ${units[step]}`;
}

/** The text with a capital first letter. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The warning about a change that the state did not store, or an empty text. */
export const notStoredWarning = ({ isKept }: { readonly isKept?: false | undefined }): string =>
  isKept === false
    ? ". The gateway cannot write it to the disk: it holds the change in memory, and writes it as soon as there is room"
    : "";

/** 0x12345678…cdef. */
export const hashText = (hash: string): string =>
  hash.length > 16 ? `${hash.slice(0, 10)}…${hash.slice(-4)}` : hash;

/** The time in the reader's zone; with the date when it is not today. */
export function timeText(iso: string, now: number): string {
  const time = new Date(iso);
  const isToday = time.toDateString() === new Date(now).toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

/** The beginning of an hour with its weekday, in the reader's zone: Mon 03:00. */
export const hourText = (iso: string): string =>
  new Date(iso).toLocaleString(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

const DAY_MS = 86_400_000;

/** The UTC day, as the bill counts days. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** The first of the 30 days that end with `day`. */
export const monthBefore = (day: string): string => dayOf(Date.parse(day) - 29 * DAY_MS);

/** All days from `from` to `to`, both included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const first = Date.parse(from);
  const count = Math.max(0, (Date.parse(to) - first) / DAY_MS + 1);
  return Array.from({ length: count }, (_, at) => dayOf(first + at * DAY_MS));
}
