// Bounds a map to its newest entries.

/** Sets an entry as the newest, also where the map had its key. @param most The most entries: the oldest one leaves. */
export function keepNewest<Key, Value>(
  entries: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  most: number,
): void {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size > most) for (const oldest of entries.keys()) return void entries.delete(oldest);
}
