// Counts that are cheap to raise, and reach Prometheus only when it looks.
import { Counter, type Registry } from "prom-client";

/** One number for each combination of label values. */
export class Tally<Label extends string> {
  readonly #values = new Map<string, { labels: Record<Label, string | number>; value: number }>();

  constructor(options: { name: string; help: string; labelNames: Label[] }, registry: Registry) {
    const values = this.#values;
    new Counter({
      ...options,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of values.values()) this.inc(labels, value);
      },
    });
  }

  /** @param key Tells the combination: one key for the same labels. */
  add(key: string, labels: Record<Label, string | number>, by = 1): void {
    const entry = this.#values.get(key);
    if (entry) entry.value += by;
    else this.#values.set(key, { labels, value: by });
  }
}
