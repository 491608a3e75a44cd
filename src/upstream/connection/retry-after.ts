// How long a node that has had enough wants to be left alone.
import { readTime } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";

/** Nobody is left alone for longer: a slip of the node's clock must not cost us the node. */
const LONGEST_MS = 3_600_000;
/** The one form of HTTP's dates that is still written (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @returns undefined when there is no such header, or nothing can be made of it. */
export function readRetryAfter(
  header: string | string[] | undefined,
  clock: Pick<Clock, "wallTime">,
): number | undefined {
  const text = (typeof header === "string" ? header : header?.[0])?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : untilDate(text, clock);
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_MS);
}

/** NaN when the text is no date. */
const untilDate = (text: string, clock: Pick<Clock, "wallTime">): number =>
  HTTP_DATE.test(text) ? readTime(text) - clock.wallTime() : Number.NaN;
