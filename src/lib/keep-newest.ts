// Bounds a map to its newest entries, and remembers names for a while.

import type { Clock } from "./clock.ts";

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

/** The most names that are remembered at once. */
const MOST_NAMES = 1_000;

/** Remembers names for a while, the newest ones. */
export class RecentNames {
  readonly #at = new Map<string, number>();
  readonly #forMs: number;
  readonly #clock: Pick<Clock, "now">;

  constructor(forMs: number, clock: Pick<Clock, "now">) {
    this.#forMs = forMs;
    this.#clock = clock;
  }

  has(name: string): boolean {
    const at = this.#at.get(name);
    return at !== undefined && this.#clock.now() - at < this.#forMs;
  }

  add(name: string): void {
    keepNewest(this.#at, [name, this.#clock.now()], MOST_NAMES);
  }

  clear(): void {
    this.#at.clear();
  }
}
