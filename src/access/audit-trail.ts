// The audit trail: each change with its actor and time, in the state that all gateways share, over restarts. The oldest
// entries of each actor are forgotten first (docs/decisions/0062). An entry has names, addresses and details of the
// change, and no secrets.
import { hostname } from "node:os";
import type { Logger } from "pino";
import { parsed } from "../jsonrpc/raw-json.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";

/** The author of a change: the name of an operator's token, of a command or a signal, and its address or host. */
export type Actor = { readonly who: string; readonly from: string };

/** The actor for a signal or a command on this machine; `from` is its host name. */
export const actorHere = (who: string): Actor => ({ who, from: hostname() });

export type Change = {
  readonly what: string;
  /** The name of the key that was changed. */
  readonly key?: string;
  /** The names of the settings that were given for a key, or one line for each change of a reload. */
  readonly details?: readonly string[];
};

type AuditEntry = Actor &
  Change & {
    /** The sequence number of the entry, over all gateways that share the state. */
    readonly number: number;
    /** The time of the change, ISO 8601. */
    readonly at: string;
  };

export type AuditPage = {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** The `before` with which the next page is read; undefined on the last page. */
  readonly next: number | undefined;
};

/** The index of the trail: the number of the next entry, and how many entries each actor made. */
type Index = { readonly end: number; readonly counts: ReadonlyMap<string, number> };

const INDEX = "audit index";
const MOST_DETAILS = 50;
/** In characters. */
const LONGEST_DETAIL = 200;
/** How often a gateway tries to write an entry while other gateways write theirs. */
const TRIES = 100;

/** How many entries of each actor are kept, so that an actor with many changes pushes out none of another actor. */
export const KEPT_ENTRIES = 10_000;
/** Actors beyond this number share the entries of `OTHERS`. Names of actors come from the configuration. */
export const MOST_ACTORS = 100;
const OTHERS = "others";
export const MOST_ENTRIES = 1_000;
/** How many entries of an actor are read at the same time. */
const READ_TOGETHER = 50;

export type AuditTrailParts = {
  readonly state: Pick<State, "get" | "update">;
  readonly clock: Pick<Clock, "wallTime">;
  readonly log: Pick<Logger, "error">;
};

export class AuditTrail {
  readonly #parts: AuditTrailParts;

  constructor(parts: AuditTrailParts) {
    this.#parts = parts;
  }

  /** Appends an entry for a change that was made. Never rejects: the log gets an entry that the state does not take. */
  async note(actor: Actor, change: Change): Promise<void> {
    try {
      await this.#append(actor, change);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#parts.log.error({ ...actor, ...change, reason }, "a change is not in the audit trail");
    }
  }

  async #append({ who, from }: Actor, { what, key, details }: Change): Promise<void> {
    const { state, clock } = this.#parts;
    const shown = details?.slice(0, MOST_DETAILS).map((line) => line.slice(0, LONGEST_DETAIL));
    const entry = { at: isoText(clock.wallTime()), who, from, what, key, details: shown };
    for (let tries = 0; tries < TRIES; tries += 1) {
      const known = await state.get(INDEX);
      const { end, counts } = readIndex(known);
      const owner = counts.has(who) || counts.size < MOST_ACTORS ? who : OTHERS;
      const count = counts.get(owner) ?? 0;
      const next = { end: end + 1, counts: [...new Map(counts).set(owner, count + 1)] };
      const texts = [JSON.stringify(next), JSON.stringify({ number: end, ...entry })];
      const { isChanged } = await state.update([INDEX, placeOf(owner, count)], ([there]) =>
        there === known ? texts : undefined,
      );
      if (isChanged) return;
    }
    throw new Error("too many gateways write to the audit trail at once");
  }

  /**
   * One page of entries, newest first.
   * @param asked.before The page has only entries with smaller numbers; left out: it begins with the newest entry.
   * @throws RpcError when the state cannot be reached.
   */
  async read(asked: {
    readonly before?: number | undefined;
    readonly limit: number;
  }): Promise<AuditPage> {
    const { state } = this.#parts;
    const { end, counts } = readIndex(await state.get(INDEX));
    const until = Math.min(end, asked.before ?? end);
    const rows = [...counts].map(([owner, count]) => newestFirst({ owner, count, until }, state));
    const limit = Math.min(asked.limit, MOST_ENTRIES);
    const entries: AuditEntry[] = [];
    for await (const entry of mergedByNumber(rows)) {
      if (entries.length === limit) return { entries, next: entries.at(-1)?.number };
      entries.push(entry);
    }
    return { entries, next: undefined };
  }
}

/** The key of an actor's entry in the state. After `KEPT_ENTRIES` entries, each new entry replaces the oldest. */
const placeOf = (owner: string, count: number): string =>
  `audit of ${owner} ${count % KEPT_ENTRIES}`;

function readIndex(text: string | undefined): Index {
  const { end = 0, counts = [] } = JSON.parse(text ?? "{}") as {
    readonly end?: number;
    readonly counts?: readonly (readonly [string, number])[];
  };
  return { end, counts: new Map(counts) };
}

/** An actor's entries with numbers below `until`. The numbers rise with the count, so a binary search finds the first. */
async function* newestFirst(
  {
    owner,
    count,
    until,
  }: { readonly owner: string; readonly count: number; readonly until: number },
  state: AuditTrailParts["state"],
): AsyncGenerator<AuditEntry> {
  /** @returns undefined when the entry is missing or is no JSON. */
  const entryAt = async (at: number) =>
    parsed((await state.get(placeOf(owner, at))) ?? "") as AuditEntry | undefined;
  const first = Math.max(0, count - KEPT_ENTRIES);
  let above = count;
  for (let low = first; low < above; ) {
    const middle = Math.floor((low + above) / 2);
    if (((await entryAt(middle))?.number ?? 0) < until) low = middle + 1;
    else above = middle;
  }
  for (let last = until; above > first; above -= READ_TOGETHER) {
    const from = Math.max(first, above - READ_TOGETHER);
    const places = Array.from({ length: above - from }, (_, index) => above - 1 - index);
    for (const entry of await Promise.all(places.map(entryAt))) {
      // Meanwhile a newer entry replaced this one.
      if (!entry || entry.number >= last) continue;
      last = entry.number;
      yield entry;
    }
  }
}

/** Merges rows of entries with falling numbers into one: the largest number comes first. */
async function* mergedByNumber(
  rows: readonly AsyncGenerator<AuditEntry>[],
): AsyncGenerator<AuditEntry> {
  const heads = new Map<AsyncGenerator<AuditEntry>, AuditEntry>();
  const step = async (row: AsyncGenerator<AuditEntry>): Promise<void> => {
    const { value, done } = await row.next();
    if (done) heads.delete(row);
    else heads.set(row, value);
  };
  await Promise.all(rows.map(step));
  while (heads.size > 0) {
    const [row, entry] = [...heads].reduce((one, other) =>
      one[1].number > other[1].number ? one : other,
    );
    yield entry;
    await step(row);
  }
}
