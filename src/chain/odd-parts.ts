// The odd parts of one network's blocks: parts that do not fit the rules, where nothing proven contradicts them. Warns
// once for each kind, counts, and remembers where the other nodes give no better.

import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Oddity } from "../proofs/prove-block.ts";

/** A kind of oddity with its latest example, for operators. */
export type OddPart = {
  readonly part: Oddity["part"];
  readonly reason: string;
  readonly block: string;
  readonly upstream: string;
  /** How many blocks had it since the start. */
  readonly count: number;
};

/** The log gets one line in this time, in milliseconds, for each part. */
const WARN_AGAIN_AFTER_MS = 3_600_000;
/** After other nodes gave a part no better, they are not asked about that part for this time, in milliseconds. */
const ASK_AGAIN_AFTER_MS = 600_000;
/** Reasons come from nodes' values: a longer one is cut, in characters. */
const MOST_REASON = 300;

type OddPartsParts = {
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "blockPartOdd">;
};

type Known = OddPart & { readonly warnedAt: number };

export class OddParts {
  /** By part, so there are few. */
  readonly #known = new Map<Oddity["part"], Known>();
  /** When the other nodes gave a part no better, by the clock's `now`. */
  readonly #noBetterAt = new Map<Oddity["part"], number>();
  readonly #network: string;
  readonly #parts: OddPartsParts;

  constructor(options: { readonly network: string }, parts: OddPartsParts) {
    this.#network = options.network;
    this.#parts = parts;
  }

  /** Each kind that was seen since the start, with its latest example. */
  get all(): readonly OddPart[] {
    return [...this.#known.values()].map(({ warnedAt: _, ...known }) => known);
  }

  /** Records the odd parts of a block that is taken in. */
  note(odd: readonly Oddity[], at: { readonly block: string; readonly upstream: string }): void {
    for (const { part, reason } of odd) this.#note({ part, reason }, at);
  }

  #note({ part, reason }: Oddity, at: { readonly block: string; readonly upstream: string }): void {
    const { clock, log, metrics } = this.#parts;
    metrics.blockPartOdd(this.#network, at.upstream, part);
    const known = this.#known.get(part);
    const now = clock.now();
    const isDue = !known || now - known.warnedAt >= WARN_AGAIN_AFTER_MS;
    const example = { part, reason: reason.slice(0, MOST_REASON), ...at };
    const count = (known?.count ?? 0) + 1;
    this.#known.set(part, { ...example, count, warnedAt: isDue ? now : known.warnedAt });
    if (isDue)
      log.warn({ ...example, count }, "a part of a block is odd: it is served without its proof");
  }

  /** Whether another node may give one of these parts better. */
  mayBeBetterElsewhere(odd: readonly Oddity[]): boolean {
    const now = this.#parts.clock.now();
    return odd.some(({ part }) => {
      const at = this.#noBetterAt.get(part);
      return at === undefined || now - at >= ASK_AGAIN_AFTER_MS;
    });
  }

  /** Records that the other nodes gave these parts no better: it is the chain's own way. */
  noBetterElsewhere(odd: readonly Oddity[]): void {
    for (const { part } of odd) this.#noBetterAt.set(part, this.#parts.clock.now());
  }

  /** Records that another node gave these parts better. */
  betterElsewhere(odd: readonly Oddity[]): void {
    for (const { part } of odd) this.#noBetterAt.delete(part);
  }
}
