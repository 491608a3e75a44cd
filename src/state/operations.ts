// The operations of a state over a table of texts. A state runs them inside its own transaction, so that an operation
// that throws changes nothing. Redis has the same operations in Lua (redis-scripts.ts).
import type { OperationId } from "../lib/outbox.ts";
import { readTaken, type TakeRequest, takeFrom, textOfTaken } from "../lib/token-bucket.ts";
import {
  type Addition,
  type AppendRequest,
  type CounterTree,
  type Entry,
  type JournalPart,
  journalKeys,
  MOST_ITEMS,
  type Next,
  oneGroupOf,
  SUPERSEDED_OPERATION,
  type TakeResult,
  type Updated,
} from "./state.ts";

export type TextTable = {
  get(key: string): string | undefined;
  /** undefined removes the text. */
  set(key: string, text: string | undefined): void;
};

/** The prefix of the key that has a slot's last operation. */
export const DONE_PREFIX = "done ";

/**
 * Calls `act` once for each id; a repetition gets the first answer again.
 * @param act Returns undefined when it changed nothing; then a repetition calls it again.
 * @throws SUPERSEDED_OPERATION as a message, when a later operation of the slot has happened.
 */
export function once<Answer extends string | undefined>(
  table: TextTable,
  { slot, number, keptMs, nowMs }: OperationId & { readonly nowMs: number },
  act: () => Answer,
): Answer | string {
  const [, last = "0", told = ""] =
    /^(\d+) \d+ (.*)$/s.exec(table.get(DONE_PREFIX + slot) ?? "") ?? [];
  if (Number(last) > number) throw new Error(SUPERSEDED_OPERATION);
  if (Number(last) === number) return told;
  const answer = act();
  const untilMs = nowMs + keptMs;
  if (answer !== undefined) table.set(DONE_PREFIX + slot, `${number} ${untilMs} ${answer}`);
  return answer;
}

/** The keys of operations whose time to be remembered has passed. */
export const forgottenOperations = (entries: Iterable<Entry>, nowMs: number): string[] =>
  [...entries].filter(({ text }) => Number(text.split(" ", 2)[1]) < nowMs).map(({ key }) => key);

export function updateIn(table: TextTable, keys: readonly string[], next: Next): Updated {
  oneGroupOf(keys);
  const texts = keys.map((key) => table.get(key));
  const wanted = next(texts);
  for (const [index, key] of keys.entries()) {
    const text = wanted?.[index];
    if (wanted && text !== texts[index]) table.set(key, text);
  }
  return { isChanged: wanted !== undefined, texts: wanted ?? texts };
}

export function takeIn(
  table: TextTable,
  key: string,
  request: TakeRequest,
  nowMs: number,
): TakeResult {
  const { taken, granted } = takeFrom(readTaken(table.get(key)), request, nowMs);
  table.set(key, textOfTaken(taken));
  return { granted, left: request.bounds.size - taken.units };
}

export function addIn(table: TextTable, additions: readonly Addition[]): void {
  oneGroupOf(additions.map(({ key }) => key));
  const sums = additions.map(({ key, counts }) => {
    const sum = JSON.parse(table.get(key) ?? "{}") as Record<string, Record<string, number[]>>;
    addTree(sum, counts);
    return [key, JSON.stringify(sum)] as const;
  });
  for (const [key, text] of sums) table.set(key, text);
}

function addTree(sum: Record<string, Record<string, number[]>>, counts: CounterTree): void {
  for (const [name, more] of Object.entries(counts)) {
    const rows = sum[name] ?? {};
    sum[name] = rows;
    for (const [row, numbers] of Object.entries(more)) {
      const before = rows[row] ?? [];
      const length = Math.max(before.length, numbers.length);
      rows[row] = Array.from({ length }, (_, at) => (before[at] ?? 0) + (numbers[at] ?? 0));
    }
  }
}

export function appendIn(
  table: TextTable,
  journal: string,
  { at, items, kept, least = 0 }: AppendRequest,
): JournalPart {
  const keys = journalKeys(journal);
  const row = new JournalRow(table, journal);
  if (row.end < least) {
    row.forgetBefore(row.end);
    row.first = least;
    row.end = least;
  }
  if (row.end === at) for (const item of items) row.add(item);
  if (row.end - row.first > kept + kept / 8) row.forgetBefore(row.end - kept);
  table.set(keys.first, row.first.toString(16));
  table.set(keys.end, row.end.toString(16));
  return row.partFrom(at);
}

export const readJournalIn = (
  table: Pick<TextTable, "get">,
  journal: string,
  at: number,
): JournalPart => new JournalRow({ ...table, set: () => undefined }, journal).partFrom(at);

class JournalRow {
  first: number;
  end: number;
  readonly #table: TextTable;
  readonly #keyOf: (number: number) => string;

  constructor(table: TextTable, journal: string) {
    const keys = journalKeys(journal);
    const numberAt = (key: string): number => Number.parseInt(table.get(key) ?? "0", 16);
    this.#table = table;
    this.#keyOf = (number) => keys.items + number.toString(16).padStart(12, "0");
    this.first = numberAt(keys.first);
    this.end = Math.max(this.first, numberAt(keys.end));
  }

  add(item: string): void {
    this.#table.set(this.#keyOf(this.end), item);
    this.end += 1;
  }

  forgetBefore(number: number): void {
    for (; this.first < number; this.first += 1)
      this.#table.set(this.#keyOf(this.first), undefined);
  }

  partFrom(at: number): JournalPart {
    const { first, end } = this;
    const from = Math.min(end, Math.max(first, at));
    const length = Math.min(end - from, MOST_ITEMS);
    const items = Array.from({ length }, (_, n) => this.#table.get(this.#keyOf(from + n)) ?? "");
    return { first, end, from, items };
  }
}
