// Patterns of names with `*`, as keys and allow lists have: `eth_*` fits all names that begin with `eth_`.

/** A test whether a name fits any of the patterns; `*` stands for any number of characters, also for none. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !isWild(pattern)));
  const wild = patterns.filter(isWild).map(wildMatcher);
  return (name) => exact.has(name) || wild.some((fits) => fits(name));
}

/** Callers may send any number of names of any length, so both are bounded. */
const MOST_REMEMBERED = 1024;
const LONGEST_REMEMBERED = 128;

/** The value of the pattern that fits a name best: an exact name wins, then the longest pattern. */
export class BestMatch<Value> {
  readonly #patterns: readonly {
    readonly fits: (name: string) => boolean;
    readonly value: Value;
  }[];
  /** The remembered results, by name. */
  readonly #known = new Map<string, Value | undefined>();

  constructor(valueByPattern: Readonly<Record<string, Value>>) {
    this.#patterns = Object.entries(valueByPattern)
      .sort(([one], [other]) => lengthOf(other) - lengthOf(one))
      .map(([pattern, value]) => ({ fits: matcherOf([pattern]), value }));
  }

  /** @returns The value of the best pattern; undefined where no pattern fits. */
  of(name: string): Value | undefined {
    if (this.#patterns.length === 0) return undefined;
    const known = this.#known.get(name);
    if (known !== undefined || this.#known.has(name)) return known;
    const value = this.#patterns.find(({ fits }) => fits(name))?.value;
    // Names in use return to the empty map with their next call.
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    if (name.length <= LONGEST_REMEMBERED) this.#known.set(name, value);
    return value;
  }
}

/** The number of characters that are not stars; infinite for an exact name. */
const lengthOf = (pattern: string): number =>
  isWild(pattern) ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;

export const isWild = (pattern: string): boolean => pattern.includes("*");

/**
 * Matches each part between stars at its first occurrence, without backtracking. So a pattern of many stars takes no
 * longer than a pattern of few stars; a regular expression does not promise that.
 */
function wildMatcher(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*");
  const beginning = parts[0] ?? "";
  const ending = parts.at(-1) ?? "";
  const middle = parts.slice(1, -1).filter((part) => part !== "");
  return (name) => {
    if (!name.startsWith(beginning) || !name.endsWith(ending)) return false;
    let at = beginning.length;
    for (const part of middle) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - ending.length;
  };
}
