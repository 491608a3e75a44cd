// Names with `*` in them, as keys and allow lists use: `eth_*` stands for all that begins with `eth_`.

/** A test for any of the patterns; `*` stands for any characters, none too. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const wild = patterns.filter((pattern) => pattern.includes("*")).map(toRegExp);
  return (name) => exact.has(name) || wild.some((pattern) => pattern.test(name));
}

const toRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split("*").map(escapeRegExp).join(".*")}$`, "s");

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
