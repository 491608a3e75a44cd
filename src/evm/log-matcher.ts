// A log filter made ready for comparing: what each matching log has, and the terms to find it by.
import type { LogFilter } from "./log-filter.ts";
import { ADDRESS, hashTerm, placeOfTopic, type TermPlace } from "./log-terms.ts";

/** One thing that every matching log has, in one of several forms. */
type Condition = {
  /** 0 for the address, 1 to 4 for the topics. */
  readonly place: TermPlace;
  readonly terms: ReadonlySet<number>;
  /** In lower case. */
  readonly values: ReadonlySet<string>;
};

export type LogMatcher = {
  readonly conditions: readonly Condition[];
  /** A log with fewer topics does not match, also where a position takes any (as geth). */
  readonly leastTopics: number;
};

/** An empty list, and a null among the alternatives, take anything. */
export function matcherOf({ address, topics }: Pick<LogFilter, "address" | "topics">): LogMatcher {
  const conditions: Condition[] = [];
  const addresses = typeof address === "string" ? [address] : (address ?? []);
  if (addresses.length > 0) conditions.push(conditionOf(ADDRESS, addresses));
  topics?.forEach((position, index) => {
    const values = typeof position === "string" ? [position] : (position ?? []);
    const isAny = values.length === 0 || values.includes(null);
    if (!isAny) conditions.push(conditionOf(placeOfTopic(index), values as string[]));
  });
  return { conditions, leastTopics: topics?.length ?? 0 };
}

const conditionOf = (place: TermPlace, values: readonly string[]): Condition => ({
  place,
  terms: new Set(values.map((value) => hashTerm(value, place))),
  values: new Set(values.map((value) => value.toLowerCase())),
});
