// The bill as operators get it: rows with what they cost, sums by key, and the same as CSV.
import { addCounts, type Counts, FIELDS, noCounts } from "./counts.ts";
import { type Cost, type PriceList, rounded } from "./prices.ts";
import type { DayRange } from "./usage-days.ts";
import type { UsageRow } from "./usage-report.ts";

/** The costs are left out where no prices are configured. */
type PricedRow = UsageRow & Partial<Cost>;
type Sum = Readonly<Counts> & Partial<Cost>;

export type Bill = DayRange & {
  readonly currency: string | undefined;
  readonly rows: readonly PricedRow[];
  /** By the key's name. */
  readonly keys: Readonly<Record<string, Sum>>;
  readonly total: Sum;
};

/** @param prices undefined where none are configured. */
export function billOf(
  rows: readonly UsageRow[],
  { from, to }: DayRange,
  prices: PriceList | undefined,
): Bill {
  const priced = rows.map((row) => (prices ? { ...row, ...prices.costOf(row) } : row));
  const keys = Map.groupBy(priced, ({ key }) => key);
  return {
    from,
    to,
    currency: prices?.currency,
    rows: priced,
    keys: Object.fromEntries([...keys].map(([key, ofKey]) => [key, sumOf(ofKey, prices)])),
    total: sumOf(priced, prices),
  };
}

function sumOf(rows: readonly PricedRow[], prices: PriceList | undefined): Sum {
  const counts = noCounts();
  for (const row of rows) addCounts(counts, row);
  if (!prices) return counts;
  return {
    ...counts,
    cost: rounded(rows.reduce((sum, { cost = 0 }) => sum + cost, 0)),
    savedCost: rounded(rows.reduce((sum, { savedCost = 0 }) => sum + savedCost, 0)),
  };
}

const COLUMNS = ["day", "key", "network", "method", ...FIELDS, "cost", "savedCost"] as const;

/** RFC 4180: a header line, fields with a comma, a quote or a line break in quotes, CRLF. */
export const usageCsv = ({ rows, currency }: Pick<Bill, "rows" | "currency">): string =>
  [
    [...COLUMNS, "currency"],
    ...rows.map((row) => [...COLUMNS.map((name) => fieldOf(row[name])), currency ?? ""]),
  ]
    .map((fields) => `${fields.map(quoted).join(",")}\r\n`)
    .join("");

/** Numbers without an exponent: 4e-7 is a text to many programs. */
const fieldOf = (value: string | number | undefined): string =>
  typeof value === "number" && !Number.isInteger(value)
    ? value.toFixed(9).replace(/0+$/, "")
    : String(value ?? "");

const quoted = (field: string): string =>
  /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
