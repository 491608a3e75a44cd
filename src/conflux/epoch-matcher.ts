// An epoch log filter made ready for comparing. Unlike geth's, empty alternatives match nothing.
import {
  ADDRESS,
  fieldOfTopic,
  hashTerm,
  type LogField,
  type LogMatcher,
} from "../evm/log-filter.ts";
import { readAddress } from "./address.ts";
import type { EpochLogFilter } from "./epoch-log-filter.ts";

type Conditions = Pick<EpochLogFilter, "address" | "topics">;

/**
 * What every matching log has, or that none can match. An address matches as nodes write it, with or
 * without its type; one that is wrong for this network matches nothing.
 */
export function epochMatcher(
  { address, topics }: Conditions,
  networkId: number,
): LogMatcher | "nothing" {
  const conditions: LogMatcher["conditions"][number][] = [];
  const addresses = typeof address === "string" ? [address] : (address ?? []);
  if (addresses.length > 0) {
    conditions.push(conditionOf(ADDRESS, formsOf(addresses, networkId)));
  }
  topics?.forEach((position, index) => {
    if (position === null) return;
    const values = typeof position === "string" ? [position] : position;
    conditions.push(conditionOf(fieldOfTopic(index), values));
  });
  if (conditions.some(({ values }) => values.size === 0)) return "nothing";
  return { conditions, leastTopics: leastTopicsOf(topics ?? []) };
}

const formsOf = (addresses: readonly string[], networkId: number): string[] =>
  addresses.flatMap((text) => {
    const reading = readAddress(text, networkId);
    return reading.kind === "address" ? [reading.address.short, reading.address.verbose] : [];
  });

/** Conflux: a log may have fewer topics than the filter has positions that take any. */
const leastTopicsOf = (topics: NonNullable<Conditions["topics"]>): number =>
  topics.findLastIndex((position) => position !== null) + 1;

const conditionOf = (
  field: LogField,
  values: readonly string[],
): LogMatcher["conditions"][number] => ({
  field,
  terms: new Set(values.map((value) => hashTerm(value, field))),
  values: new Set(values.map((value) => value.toLowerCase())),
});
