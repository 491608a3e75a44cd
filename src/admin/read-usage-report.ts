// The usage report that an operator asks for: the range checked, what is written read, prices put to it.

import type { PriceList } from "../access/usage/usage-report.ts";
import { readUsage, usageReportOf } from "../access/usage/usage-report.ts";
import { readRange } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import type { AdminServerParts } from "./admin-server-parts.ts";

/** A year, and the month that a year ago began in. */
const MOST_DAYS = 400;

export const usageReportReader =
  (parts: {
    readonly state: Pick<State, "list">;
    readonly clock: Pick<Clock, "wallTime" | "yield">;
    /** As they are configured now. */
    readonly prices: () => PriceList | undefined;
  }): AdminServerParts["readUsageReport"] =>
  async ({ from, to, ...which }) => {
    const options = { wallTimeMs: parts.clock.wallTime(), mostDays: MOST_DAYS };
    const range = readRange({ from, to }, options);
    if (range.kind === "mistake")
      return { kind: "mistakes", mistakes: [`${range.field}: ${range.why}`] };
    return usageReportOf(
      await readUsage(parts.state, { ...range, ...which }, parts),
      range,
      parts.prices(),
    );
  };
