// How much of a limit is taken, as one entry of the state tells it. What is taken from a rate comes back
// with time; what is taken from a quota does not. Pure.

export type Bounds = {
  /** What can be taken of the untouched limit: the burst of a rate, the whole of a quota. */
  readonly size: number;
  /** What comes back each second; 0 for a quota. */
  readonly perSecond: number;
};

export type Taken = { readonly units: number; readonly atMs: number };

export const NOTHING_TAKEN: Taken = { units: 0, atMs: 0 };

/** What is still taken later. A time before that of the entry is taken for that of the entry. */
export function takenAt(taken: Taken, { size, perSecond }: Bounds, atMs: number): number {
  if (perSecond === 0) return taken.units;
  const back = (Math.max(0, atMs - taken.atMs) / 1000) * perSecond;
  // A burst that was made smaller meanwhile is empty at worst, not in debt.
  return Math.min(size, Math.max(0, taken.units - back));
}

/** @param mark Makes the text one that nobody else writes: who does not know whether it was written looks for it. */
export const textOfTaken = ({ units, atMs }: Taken, mark: string): string =>
  `${units} ${atMs} ${mark}`;

/** An entry that nobody can read counts as none. */
export function readTaken(text: string | undefined): Taken {
  const [units = Number.NaN, atMs = Number.NaN] = (text ?? "").split(" ", 2).map(Number);
  return Number.isFinite(units) && Number.isFinite(atMs) ? { units, atMs } : NOTHING_TAKEN;
}

/**
 * What one process is given at once.
 *
 * @param asked.least Below this it would be of no use; 0 for one that asks ahead.
 * @param share Of what is left, so that others find something too.
 */
export function grantOf(
  left: number,
  asked: { readonly least: number; readonly wanted: number },
  share: number,
): number {
  if (left <= 0 || left < asked.least) return 0;
  return Math.max(asked.least, Math.min(asked.wanted, Math.floor(left * share)));
}
