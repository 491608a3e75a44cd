// `headgate keys usage`: what keys were used for.

import {
  priceList,
  readUsage,
  type UsageReport,
  usageCsv,
  usageReportOf,
} from "../access/usage/usage-report.ts";
import { readRange } from "../lib/calendar.ts";
import type { KeysCommand } from "./keys-command.ts";
import { type OptionValues, wrong } from "./keys-options.ts";
import { table } from "./keys-print.ts";

/** Ten years: the report is printed row by row, however long it is. */
const MOST_DAYS = 3660;

export const keysUsage: KeysCommand = {
  summary: "what a key, or every key, was used for",
  takesName: "perhaps",
  options: ["from", "to", "network", "csv", "json"],
  run: async ({ name, values }, { state, config, clock, print }) => {
    const range = readRange(
      { from: textOf(values["from"]), to: textOf(values["to"]) },
      { wallTimeMs: clock.wallTime(), mostDays: MOST_DAYS },
    );
    if (range.kind === "mistake") throw wrong(`--${range.field}: ${range.why}`);
    const query = { ...range, key: name || undefined, network: textOf(values["network"]) };
    const rows = await readUsage(state, query, { clock });
    print(shown(usageReportOf(rows, range, config.prices && priceList(config.prices)), values));
  },
};

const textOf = (value: OptionValues[string]): string | undefined =>
  typeof value === "string" ? value : undefined;

function shown(report: UsageReport, values: OptionValues): string {
  if (values["csv"]) return usageCsv(report).trimEnd();
  return values["json"] ? JSON.stringify(report, null, 2) : sums(report);
}

const HEADER = ["KEY", "CALLS", "UNITS", "BYTES", "ERRORS", "REFUSED", "COST", "SAVED"];

/** One line a key: what was done in detail is for machines. */
const sums = ({ keys, total, currency, from, to }: UsageReport): string =>
  `${from} to ${to}${currency ? `, in ${currency}` : ""}\n${table([
    HEADER,
    ...[...Object.entries(keys), ["total", total] as const].map(([name, sum]) => [
      name,
      ...[sum.calls, sum.computeUnits, sum.bytes, sum.errors, sum.refused].map(String),
      sum.cost?.toFixed(2) ?? "-",
      sum.savedCost?.toFixed(2) ?? "-",
    ]),
  ])}`;
