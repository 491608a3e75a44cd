// Names with `*` in them, as keys and allow lists use: `eth_*` stands for all that begins with `eth_`.

/** A test whether a name fits any of the patterns; `*` stands for any characters, or none. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !isWild(pattern)));
  const wild = patterns.filter(isWild).map(wildMatcher);
  return (name) => exact.has(name) || wild.some((fits) => fits(name));
}

/** Callers may send endless and long names, so this many results are remembered. */
const MOST_REMEMBERED = 1024;
const LONGEST_REMEMBERED = 128;

/** The value of the pattern that fits a name best: an exact name wins, then the longest pattern. */
export class BestMatch<Value> {
  readonly #patterns: readonly {
    readonly fits: (name: string) => boolean;
    readonly value: Value;
  }[];
  /** The results that are remembered. */
  readonly #known = new Map<string, Value | undefined>();

  constructor(valueByPattern: Readonly<Record<string, Value>>) {
    this.#patterns = Object.entries(valueByPattern)
      .sort(([one], [other]) => lengthOf(other) - lengthOf(one))
      .map(([pattern, value]) => ({ fits: matcherOf([pattern]), value }));
  }

  /** undefined where no pattern fits. */
  of(name: string): Value | undefined {
    if (this.#patterns.length === 0) return undefined;
    const known = this.#known.get(name);
    if (known !== undefined || this.#known.has(name)) return known;
    const value = this.#patterns.find(({ fits }) => fits(name))?.value;
    // The names in use come back at once.
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    if (name.length <= LONGEST_REMEMBERED) this.#known.set(name, value);
    return value;
  }
}

/** The characters of a pattern that are not stars. */
const lengthOf = (pattern: string): number =>
  isWild(pattern) ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;

export const isWild = (pattern: string): boolean => pattern.includes("*");

/**
 * Takes each part between stars where it is found first, and never looks for it again. So a pattern of many stars takes
 * no longer than one of few, which a regular expression does not promise.
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
