// The days and months that quotas are counted by, UTC.

export type WindowKind = "day" | "month";

export type CountedWindow = {
  /** Such as 2026-11-21 or 2026-11. */
  readonly label: string;
  /** When the next one begins, in milliseconds since 1970. */
  readonly endsAtMs: number;
};

const DAY_MS = 86_400_000;

export function windowAt(kind: WindowKind, wallMs: number): CountedWindow {
  const day = isoDay(wallMs);
  if (kind === "day") return { label: day, endsAtMs: (Math.floor(wallMs / DAY_MS) + 1) * DAY_MS };
  const label = day.slice(0, "2026-11".length);
  let endsAtMs = (Math.floor(wallMs / DAY_MS) + 1) * DAY_MS;
  while (isoDay(endsAtMs).startsWith(label)) endsAtMs += DAY_MS;
  return { label, endsAtMs };
}

/** Whether nothing is counted under the label any more: also where clocks differ by hours. */
export const isLongOver = (label: string, wallMs: number): boolean =>
  label.length === "2026-11".length
    ? label < isoDay(wallMs - 32 * DAY_MS).slice(0, "2026-11".length)
    : label < isoDay(wallMs - 2 * DAY_MS);

const isoDay = (wallMs: number): string =>
  // biome-ignore lint/style/noRestrictedGlobals: this writes a given time, it does not ask for it.
  new Date(wallMs).toISOString().slice(0, "2026-11-21".length);
