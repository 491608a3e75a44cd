// The usage report: the counts of all members for a range of days, added up by day, key, network and method; their costs;
// sums by key, network, method and day; and the rows as CSV. Also the usage of a key by hour.

import type { Config } from "../../config/schema.ts";
import { type DayRange, dayOf, daysIn, HOUR_MS, hourOf, isoText } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { BestMatch } from "../../lib/pattern.ts";
import type { Entry, State } from "../../state/state.ts";
import {
  ALL_NETWORKS,
  addCounts,
  addTotals,
  type Counts,
  FIELDS,
  hoursPrefix,
  noCounts,
  type Totals,
  totalsOfText,
  type UsageRow,
} from "./key-usage.ts";

export type UsageQuery = DayRange & {
  readonly key?: string | undefined;
  readonly network?: string | undefined;
};

/** After this many entries, or rows, other work gets a turn. */
const BATCH = 200;

/**
 * The rows in the order of day, key, network and method, a few at a time. Other work gets its turns in between.
 * @param query Days as `readRange` gives them.
 * @throws When the state cannot be reached.
 */
export async function* usageRows(
  state: Pick<State, "list">,
  query: UsageQuery,
  { clock }: { readonly clock: Pick<Clock, "yield"> },
): AsyncGenerator<readonly UsageRow[], void, undefined> {
  for (const day of daysIn(query)) {
    const prefix = `usage ${day} ${query.key === undefined ? "" : `${query.key} `}`;
    const entries = await state.list(prefix);
    let [rows, read]: [UsageRow[], number] = [[], 0];
    for (const [key, ofKey] of byKey(entries)) {
      for (const row of rowsOf({ day, key }, totalsOf(ofKey), query.network)) rows.push(row);
      read += ofKey.length;
      if (read < BATCH && rows.length < BATCH) continue;
      yield* inParts(rows, clock);
      [rows, read] = [[], 0];
      await clock.yield();
    }
    yield* inParts(rows, clock);
    await clock.yield();
  }
}

function* rowsOf(
  { day, key }: Pick<UsageRow, "day" | "key">,
  totals: Totals,
  wanted: string | undefined,
): Generator<UsageRow> {
  for (const [network, methods] of inOrder(totals)) {
    if (wanted !== undefined && network !== wanted) continue;
    for (const [method, counts] of inOrder(methods)) yield { day, key, network, method, ...counts };
  }
}

async function* inParts(
  rows: readonly UsageRow[],
  clock: Pick<Clock, "yield">,
): AsyncGenerator<readonly UsageRow[], void, undefined> {
  for (let from = 0; from < rows.length; from += BATCH) {
    if (from > 0) await clock.yield();
    yield rows.slice(from, from + BATCH);
  }
}

/** All rows of `usageRows`. @throws As `usageRows`. */
export async function readUsage(...of: Parameters<typeof usageRows>): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  for await (const some of usageRows(...of)) rows.push(...some);
  return rows;
}

/** How many hours the usage by hour covers, the running hour included. */
const TOLD_HOURS = 48;

export type UsageHour = Readonly<Counts> & {
  /** The beginning of the hour, ISO 8601. */
  readonly at: string;
};

/**
 * The usage of one key in each of the last 48 hours, oldest first, hours without calls included.
 * @throws When the state cannot be reached.
 */
export async function readUsageHours(
  state: Pick<State, "list">,
  { key, nowMs }: { readonly key: string; readonly nowMs: number },
): Promise<readonly UsageHour[]> {
  const firstMs = nowMs - (nowMs % HOUR_MS) - (TOLD_HOURS - 1) * HOUR_MS;
  const byDay = new Map<string, Totals>();
  for (const day of daysIn({ from: dayOf(firstMs), to: dayOf(nowMs) }))
    byDay.set(day, totalsOf(await state.list(hoursPrefix({ day, key }))));
  return Array.from({ length: TOLD_HOURS }, (_, index) => {
    const atMs = firstMs + index * HOUR_MS;
    const counts = byDay.get(dayOf(atMs))?.get(ALL_NETWORKS)?.get(hourOf(atMs));
    return { at: isoText(atMs), ...(counts ?? noCounts()) };
  });
}

/** Groups entries by key. Entries of a key are neighbours in the list, since names have no spaces. */
function* byKey(entries: readonly Entry[]): Generator<[string, readonly Entry[]]> {
  let from = 0;
  while (from < entries.length) {
    const name = nameOf(entries[from]);
    let to = from + 1;
    while (to < entries.length && nameOf(entries[to]) === name) to += 1;
    yield [name, entries.slice(from, to)];
    from = to;
  }
}

const nameOf = (entry: Entry | undefined): string => entry?.key.split(" ", 3)[2] ?? "";

function totalsOf(entries: readonly Entry[]): Totals {
  const totals: Totals = new Map();
  for (const { text } of entries) addTotals(totals, totalsOfText(text));
  return totals;
}

const inOrder = <Value>(map: ReadonlyMap<string, Value>): [string, Value][] =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

export type PriceSettings = NonNullable<Config["prices"]>;

type Cost = {
  /** The cost of all calls. */
  readonly cost: number;
  /** The part of the cost that belongs to calls for which no upstream was asked. */
  readonly savedCost: number;
};

export type PriceList = {
  readonly currency: string;
  costOf(counts: Readonly<Counts> & { readonly method: string }): Cost;
};

/** The price of a method's full name comes first, then that of the longest pattern, then that of its compute units. */
export function priceList({ currency, computeUnits, methods }: PriceSettings): PriceList {
  const prices = new BestMatch(methods);
  return {
    currency,
    costOf: (row) => {
      const price = prices.of(row.method);
      const { calls, savedComputeUnits } = row;
      if (price === undefined) {
        return costs(computeUnits, row.computeUnits, savedComputeUnits);
      }
      return costs(price, calls, savedCalls(row));
    },
  };
}

const savedCalls = ({ savedByStore, savedByMerging, savedHere }: Readonly<Counts>): number =>
  savedByStore + savedByMerging + savedHere;

const costs = (perMillion: number, all: number, saved: number): Cost => ({
  cost: rounded((all * perMillion) / 1_000_000),
  savedCost: rounded((saved * perMillion) / 1_000_000),
});

/** Rounds to a billionth of the currency: smaller parts are floating point noise. */
const rounded = (amount: number): number => Math.round(amount * 1e9) / 1e9;

/** A row with its costs; it has none where no prices are configured. */
type PricedRow = UsageRow & Partial<Cost>;
type Sum = Readonly<Counts> & Partial<Cost>;

type Sums = Readonly<Record<string, Sum>>;

export type UsageReport = DayRange & {
  readonly currency: string | undefined;
  readonly rows: readonly PricedRow[];
  /** Sums by name. Days without any usage are left out. */
  readonly keys: Sums;
  readonly networks: Sums;
  readonly methods: Sums;
  readonly days: Sums;
  readonly total: Sum;
};

/** @param prices undefined: the report has no costs. */
export function usageReportOf(
  rows: readonly UsageRow[],
  range: DayRange,
  prices: PriceList | undefined,
): UsageReport {
  const sums = new UsageSums(prices);
  const priced = rows.map((row) => sums.add(row));
  return { ...sums.report(range), rows: priced };
}

const SUMMED = { keys: "key", networks: "network", methods: "method", days: "day" } as const;

/** The sums of a report, to which rows are added one by one. */
export class UsageSums {
  readonly #total: Summed = { counts: noCounts(), cost: 0, savedCost: 0 };
  readonly #sums = new Map(
    Object.keys(SUMMED).map((what) => [what as keyof typeof SUMMED, new Map<string, Summed>()]),
  );
  readonly #prices: PriceList | undefined;

  /** @param prices undefined: the sums have no costs. */
  constructor(prices: PriceList | undefined) {
    this.#prices = prices;
  }

  /** @returns The row with its costs. */
  add(row: UsageRow): PricedRow {
    const cost = this.#prices?.costOf(row);
    addTo(this.#total, row, cost);
    for (const [what, sums] of this.#sums) {
      const name = row[SUMMED[what]];
      const summed = sums.get(name) ?? { counts: noCounts(), cost: 0, savedCost: 0 };
      sums.set(name, summed);
      addTo(summed, row, cost);
    }
    return cost ? { ...row, ...cost } : row;
  }

  /** The report of all rows so far, without the rows. */
  report({ from, to }: DayRange): Omit<UsageReport, "rows"> {
    const sumsBy = (what: keyof typeof SUMMED): Sums =>
      Object.fromEntries(
        [...(this.#sums.get(what) ?? [])].map(([name, summed]) => [name, this.#told(summed)]),
      );
    return {
      from,
      to,
      currency: this.#prices?.currency,
      ...{ keys: sumsBy("keys"), networks: sumsBy("networks") },
      ...{ methods: sumsBy("methods"), days: sumsBy("days") },
      total: this.#told(this.#total),
    };
  }

  #told({ counts, cost, savedCost }: Summed): Sum {
    if (!this.#prices) return counts;
    return { ...counts, cost: rounded(cost), savedCost: rounded(savedCost) };
  }
}

type Summed = { readonly counts: Counts; cost: number; savedCost: number };

function addTo(summed: Summed, row: UsageRow, { cost, savedCost }: Cost = FREE): void {
  addCounts(summed.counts, row);
  summed.cost += cost;
  summed.savedCost += savedCost;
}

const FREE: Cost = { cost: 0, savedCost: 0 };

/** The CSV leaves out the reasons of refusals, which came later: programs may read its columns by their order. */
const COUNTED = FIELDS.slice(0, FIELDS.indexOf("refusedMethods"));
const COLUMNS = ["day", "key", "network", "method", ...COUNTED, "cost", "savedCost"] as const;

/**
 * CSV by RFC 4180: a header line, quotes around fields with a comma, a quote or a line break, CRLF. A text that a
 * spreadsheet would take for a formula gets an apostrophe before it: a key may be called -1.
 */
export const usageCsv = ({ rows, currency }: Pick<UsageReport, "rows" | "currency">): string =>
  CSV_HEADER + csvLines(rows, currency);

export const CSV_HEADER = lineOf([...COLUMNS, "currency"]);

/** The lines of the CSV for some rows, as `usageCsv` writes them. */
export const csvLines = (rows: readonly PricedRow[], currency: string | undefined): string =>
  rows
    .map((row) => lineOf([...COLUMNS.map((name) => fieldOf(row[name])), currency ?? ""]))
    .join("");

function lineOf(fields: readonly string[]): string {
  return `${fields.map(quoted).join(",")}\r\n`;
}

/** A field of the CSV. Numbers have no exponent: many programs take 4e-7 for a text. */
const fieldOf = (value: string | number | undefined = ""): string =>
  typeof value === "string"
    ? value.replace(/^[=+\-@\t\r]/, "'$&")
    : Number.isInteger(value)
      ? String(value)
      : value.toFixed(9).replace(/0+$/, "");

function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
