// The bill: what all members wrote of a range of days, added up by day, key, network and method.
import type { Clock } from "../../lib/clock.ts";
import type { Entry, State } from "../../state/state.ts";
import { addTotals, type Counts, type Totals, totalsOfText } from "./counts.ts";
import { type DayRange, daysIn } from "./usage-days.ts";

export type UsageRow = Readonly<Counts> & {
  readonly day: string;
  readonly key: string;
  readonly network: string;
  readonly method: string;
};

export type UsageQuery = DayRange & {
  readonly key?: string | undefined;
  readonly network?: string | undefined;
};

/** Entries that are read in one go. */
const BATCH = 200;

/**
 * Rows in the order of day, key, network and method. Others get a turn in between, however many there are.
 *
 * @param query Days as `readRange` gives them.
 * @throws When the state is away.
 */
export async function readUsage(
  state: Pick<State, "list">,
  query: UsageQuery,
  parts: { readonly clock: Pick<Clock, "yield"> },
): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  for (const day of daysIn(query)) {
    const entries = await state.list(
      `usage ${day} ${query.key === undefined ? "" : `${query.key} `}`,
    );
    let read = 0;
    for (const [key, ofKey] of byKey(entries)) {
      appendRows(rows, { day, key, entries: ofKey, network: query.network });
      read += ofKey.length;
      if (read < BATCH) continue;
      read = 0;
      await parts.clock.yield();
    }
    await parts.clock.yield();
  }
  return rows;
}

/** Each member has an entry of its own, so that each entry has one writer. */
export const usageEntryKey = ({ day, key, member }: { day: string; key: string; member: string }) =>
  `usage ${day} ${key} ${member}`;

/** The entries of a key follow one another: names have no spaces. */
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

function appendRows(
  rows: UsageRow[],
  {
    day,
    key,
    entries,
    network: only,
  }: {
    day: string;
    key: string;
    entries: readonly Entry[];
    network: string | undefined;
  },
): void {
  const totals: Totals = new Map();
  for (const { text } of entries) addTotals(totals, totalsOfText(text));
  for (const [network, methods] of inOrder(totals)) {
    if (only !== undefined && network !== only) continue;
    for (const [method, counts] of inOrder(methods)) {
      rows.push({ day, key, network, method, ...counts });
    }
  }
}

const inOrder = <Value>(map: ReadonlyMap<string, Value>): [string, Value][] =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));
