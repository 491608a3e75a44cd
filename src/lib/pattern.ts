// Names with `*` in them, as keys and allow lists use: `eth_*` stands for all that begins with `eth_`.

/** A test for any of the patterns; `*` stands for any characters, none too. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const wild = patterns.filter((pattern) => pattern.includes("*")).map(toRegExp);
  return (name) => exact.has(name) || wild.some((pattern) => pattern.test(name));
}

/** The patterns that fit a name better come first: a name before patterns, and a longer pattern before shorter ones. */
export const byPrecedence = <Value>(
  valueByPattern: Readonly<Record<string, Value>>,
): readonly { readonly isOf: (name: string) => boolean; readonly value: Value }[] =>
  Object.entries(valueByPattern)
    .sort(([one], [other]) => lengthOf(other) - lengthOf(one))
    .map(([pattern, value]) => ({ isOf: matcherOf([pattern]), value }));

/** What a pattern says of a name: its stars say nothing. */
const lengthOf = (pattern: string): number =>
  pattern.includes("*") ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;

const toRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split("*").map(escapeRegExp).join(".*")}$`, "s");

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
