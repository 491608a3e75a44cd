// How much may wait in memory before what is no longer begun: parts of the budget.

/** Above which a call of so many compute units is not begun. */
const CALLS: readonly { readonly below: number; readonly room: number }[] = [
  { below: 4, room: 1 }, // computed here, or one small thing of the store
  { below: 10, room: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, room: 3 / 16 }, // logs, receipts of blocks, traces
];
const forCall = (computeUnits: number): number =>
  CALLS.find(({ below }) => computeUnits < below)?.room ?? 0;

/** Who asks for many things at once can ask for them one by one. */
const IN_BATCH = 1 / 3;

export const rooms = {
  any: 1,
  forCall,
  forBatch: (computeUnits: number): number => forCall(computeUnits) * IN_BATCH,
  /** Above it answers of nodes that turn out to be large are not read on: more waits then than was to be begun. */
  largeAnswer: 3 / 32,
  /** Above it a batch has one call under way. */
  calm: 1 / 16,
  /** What keys share of each other's room: of it a key of weight 1 may take a half, however much waits for it. */
  againstOthers: 1 / 24,
  /** Above it nothing is begun for one key. */
  ofOneKey: 3 / 4,
  /** Above it nothing but cheap work is begun for any. */
  inAll: 7 / 8,
} as const;

const MOST = 2 ** 30;
const OF_THE_MACHINE = 1 / 4;

/**
 * What may wait where nothing is configured, in bytes.
 *
 * @param memory.constrained What the process may use of the machine's memory; 0 or absurdly large: all.
 */
export function defaultBudget(memory: {
  readonly total: number;
  readonly constrained: number;
}): number {
  const { total, constrained } = memory;
  const usable = constrained > 0 ? Math.min(total, constrained) : total;
  return Math.min(MOST, Math.floor(usable * OF_THE_MACHINE));
}
