// Ends the filters of networks that nobody serves any more: each network's own are looked after where it
// is served, and these would count for their keys, and stay, for ever.
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import type { FilterCount } from "./filter-count.ts";
import { decodeFilter, weightOf } from "./filter-record.ts";
import { Lifetime } from "./lifetime.ts";
import { WRITTEN_LATE_MS } from "./open-filter.ts";

export type UnservedFiltersParts = {
  readonly state: Pick<State, "list">;
  readonly count: Pick<FilterCount, "remove">;
  readonly clock: Clock;
  readonly isServed: (network: string) => boolean;
};

/** So many are looked at without a pause. */
const LOOKED_AT_ONCE = 500;
const EVERY_MS = 300_000;

export class UnservedFilters {
  readonly #lifetime: Lifetime;
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #parts: UnservedFiltersParts;

  constructor(parts: UnservedFiltersParts) {
    this.#lifetime = new Lifetime(parts);
    this.#parts = parts;
  }

  /** What another gateway serves, which was configured otherwise, is polled there: only what nobody polls ends. */
  start(): void {
    this.#lifetime.begin();
    this.#running = this.#endAgainAndAgain();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #endAgainAndAgain(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#parts.clock.sleep(EVERY_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#end().catch(() => undefined); // while the state is away
    }
  }

  async #end(): Promise<void> {
    const { state, count, clock, isServed } = this.#parts;
    const entries = await this.#lifetime.noting(state.list("filter "));
    for (const [index, { key, text }] of entries.entries()) {
      if (index % LOOKED_AT_ONCE === LOOKED_AT_ONCE - 1) await clock.yield();
      const [, network = ""] = key.split(" ");
      // Names of networks have no underscores: this is something else about filters.
      if (network.startsWith("_") || isServed(network)) continue;
      const record = decodeFilter(text);
      if (!this.#lifetime.isOver(record.usedAtMs + WRITTEN_LATE_MS)) continue;
      await count.remove({ key, text, holder: record.holder, weight: weightOf(record) });
    }
  }
}
