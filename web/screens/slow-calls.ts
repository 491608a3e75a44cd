// The slow and failed calls that a page holds: bounded, without duplicates, the newest first. Pure.
import type { CallAnswer } from "../../src/admin/schemas.ts";

/** The most calls that a page holds, however long it is open. */
export const MOST_CALLS = 300;

export const callName = ({ at, request, id, method }: CallAnswer): string =>
  `${at} ${request} ${id} ${method}`;

/** Adds new calls; returns the same list where there is none. */
export function joined(
  shown: readonly CallAnswer[],
  more: readonly CallAnswer[],
): readonly CallAnswer[] {
  const known = new Set(shown.map(callName));
  const fresh = more.filter((call) => !known.has(callName(call)));
  if (fresh.length === 0) return shown;
  return [...fresh, ...shown]
    .sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0))
    .slice(0, MOST_CALLS);
}

/** Whether a call matches the filters in the address; a part of a name is enough. */
export function isShown(call: CallAnswer, query: URLSearchParams): boolean {
  const has = (name: "network" | "outcome"): boolean =>
    !query.get(name) || query.get(name) === call[name];
  const contains = (name: "key" | "method"): boolean =>
    call[name].toLowerCase().includes((query.get(name) ?? "").toLowerCase());
  const least = Number(query.get("ms") ?? 0);
  return (
    has("network") && has("outcome") && contains("key") && contains("method") && !(call.ms < least)
  );
}
