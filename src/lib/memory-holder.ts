// On whose behalf bytes wait in memory: one for each key.

/** Written by the budget alone, so that what waits for a key is known without looking for it. */
export type MemoryHolder = {
  /** Of the key. */
  readonly name: string;
  /** As in `Asker`. */
  weight: number;
  /** What waits. */
  bytes: number;
  /** So much of it is beyond the key's share. */
  excessBytes: number;
};

export const memoryHolder = (name: string): MemoryHolder => ({
  name,
  weight: 1,
  bytes: 0,
  excessBytes: 0,
});

/** What counts against others, of the room that all have: a half of it for one of weight 1. */
export const shareOf = ({ weight }: MemoryHolder, room: number): number =>
  Math.floor((room * weight) / (weight + 1));
