// Finds the log subscriptions that a chain update may concern, once for all of them: most match no new log, and need
// not look at the chain.
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import type { LogMatcher } from "../evm/log-filter.ts";

type NewLogsParts = { readonly view: () => ChainView | undefined };

/** After an update of more blocks all streams look. */
const MOST_BLOCKS = 64;

type Matcher = LogMatcher | "nothing" | undefined;

export class NewLogs<Stream> {
  #head: Position | undefined;
  /** The terms of all logs of the new blocks; undefined when the update may concern all streams. */
  #terms: ReadonlySet<number> | undefined;
  readonly #all = new Map<Stream, Matcher>();
  /** Streams that ask for no terms: each update concerns them. */
  readonly #always = new Set<Stream>();
  /** Streams that ask for logs with any of some terms, by each of these terms. */
  readonly #byTerm = new Map<number, Set<Stream>>();
  readonly #parts: NewLogsParts;

  constructor(parts: NewLogsParts) {
    this.#parts = parts;
  }

  /** The head at the last `look`. */
  get head(): Position | undefined {
    return this.#head;
  }

  /** @param matcher The matcher of a stream of logs; undefined for any other stream. */
  add(stream: Stream, matcher: Matcher): void {
    this.#all.set(stream, matcher);
    const terms = fewestTerms(matcher);
    if (!terms) this.#always.add(stream);
    for (const term of terms ?? []) {
      const streams = this.#byTerm.get(term) ?? new Set();
      this.#byTerm.set(term, streams.add(stream));
    }
  }

  remove(stream: Stream): void {
    const terms = fewestTerms(this.#all.get(stream));
    this.#all.delete(stream);
    this.#always.delete(stream);
    for (const term of terms ?? []) {
      const streams = this.#byTerm.get(term);
      streams?.delete(stream);
      if (streams?.size === 0) this.#byTerm.delete(term);
    }
  }

  /** Called after a chain update. @returns The head at the previous `look`, if the chain only added blocks since. */
  look(): Position | undefined {
    const before = this.#head;
    const view = this.#parts.view();
    this.#head = view?.head;
    this.#terms = view && before && termsSince(before, view);
    return this.#terms && before;
  }

  /** The streams that the last update may concern. */
  *concerned(): Generator<Stream> {
    if (!this.#terms) yield* this.#all.keys();
    else yield* this.#always;
    const found = new Set<Stream>();
    for (const term of this.#terms ?? [])
      for (const stream of this.#byTerm.get(term) ?? []) found.add(stream);
    for (const stream of found) {
      const matcher = this.#all.get(stream);
      if (matcher && this.mayMatch(matcher)) yield stream;
    }
  }

  /** Whether the last update may concern a subscription with this matcher. */
  mayMatch(matcher: LogMatcher | "nothing"): boolean {
    const terms = this.#terms;
    if (!terms) return true;
    if (matcher === "nothing") return false;
    return matcher.conditions.every(({ terms: wanted }) => hasOne(wanted, terms));
  }
}

/** The terms of the condition that has the fewest; undefined where the matcher has no condition. */
function fewestTerms(matcher: Matcher): ReadonlySet<number> | undefined {
  if (matcher === "nothing") return NO_TERMS;
  const [first, ...others] = matcher?.conditions ?? [];
  const shorter = (one: ReadonlySet<number>, other: ReadonlySet<number>): ReadonlySet<number> =>
    other.size < one.size ? other : one;
  return first && others.map(({ terms }) => terms).reduce(shorter, first.terms);
}

const NO_TERMS: ReadonlySet<number> = new Set();

function hasOne(wanted: ReadonlySet<number>, terms: ReadonlySet<number>): boolean {
  for (const term of wanted) if (terms.has(term)) return true;
  return false;
}

/** The terms of the added blocks; undefined when blocks were also removed, are too many, or are not stored. */
function termsSince(before: Position, view: ChainView): Set<number> | undefined {
  if (view.head.number - before.number > MOST_BLOCKS) return undefined;
  const terms = new Set<number>();
  let { hash } = before;
  for (let number = before.number + 1; number <= view.head.number; number += 1) {
    const block = view.blockAt(number);
    if (block?.outline.parentHash !== hash) return undefined;
    view.addLogTerms(block, terms);
    hash = block.hash;
  }
  return hash === view.head.hash ? terms : undefined;
}
