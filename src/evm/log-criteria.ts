// One name for all log filters that search for the same, wherever they search.
import { keccakBytes } from "./keccak.ts";
import type { LogFilter } from "./log-filter.ts";

/**
 * 32 bytes. Order and case of alternatives do not count, nor do the ways to say "any"; how many topics
 * there are does: a log with fewer does not match (as geth).
 */
export function criteriaHash({ address, topics }: Pick<LogFilter, "address" | "topics">): Buffer {
  const criteria = [alternativesOf(address), (topics ?? []).map(alternativesOf)];
  return Buffer.from(keccakBytes(Buffer.from(JSON.stringify(criteria))));
}

/** null for any. */
function alternativesOf(
  values: string | readonly (string | null)[] | null | undefined,
): readonly string[] | null {
  const listed = typeof values === "string" ? [values] : (values ?? []);
  if (listed.length === 0 || listed.includes(null)) return null;
  return [...new Set(listed.map((value) => String(value).toLowerCase()))].sort();
}
