// A map that remembers the newest entries: the oldest leaves when there are too many.

/** Sets an entry as the newest one, also where the map had its key before. @param most How many entries are kept. */
export function keepNewest<Key, Value>(
  entries: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  most: number,
): void {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size > most) for (const oldest of entries.keys()) return void entries.delete(oldest);
}
