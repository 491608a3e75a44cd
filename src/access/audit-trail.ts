// Who changed what, and when, in the state that all gateways share. It is kept over restarts; of each actor the oldest
// entries are forgotten (docs/decisions/0062). It has names, addresses and what the log says of a change, and no secrets.
import { hostname } from "node:os";
import type { Logger } from "pino";
import { parsed } from "../jsonrpc/raw-json.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";

/** Who changes something: the name of an operator's token, a command or a signal; and from where. */
export type Actor = { readonly who: string; readonly from: string };

/** A signal, or the command line, of this machine. */
export const actorHere = (who: string): Actor => ({ who, from: hostname() });

export type Change = {
  readonly what: string;
  /** The name of the key that was changed. */
  readonly key?: string;
  /** The settings of a key; or one line for each thing that a reload changed. */
  readonly details?: readonly string[];
};

type AuditEntry = Actor &
  Change & {
    /** Rises by one with each entry, over all gateways that share the state. */
    readonly number: number;
    /** ISO 8601. */
    readonly at: string;
  };

export type AuditPage = {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** `before` of the next page; undefined when there is none. */
  readonly next: number | undefined;
};

/** What of the trail is where: the number that the next entry gets, and how many entries each actor made. */
type Index = { readonly end: number; readonly counts: ReadonlyMap<string, number> };

const INDEX = "audit index";
const MOST_DETAILS = 50;
/** In characters. */
const LONGEST_DETAIL = 200;
/** How often an entry is written again after another gateway was faster. */
const TRIES = 100;

/** Of each actor, the newest: whoever changes much pushes out nobody else's entries. */
export const KEPT_ENTRIES = 10_000;
/** Names come from the configuration. Actors beyond so many of them share one place. */
export const MOST_ACTORS = 100;
const OTHERS = "others";
export const MOST_ENTRIES = 1_000;
/** So many entries of an actor are read together. */
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

  /** Notes a change that was made. Never rejects: when the state does not take the entry, it is in the log. */
  async note(actor: Actor, change: Change): Promise<void> {
    try {
      await this.#append(actor, change);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#parts.log.error({ ...actor, ...change, reason }, "not in the audit trail");
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
    throw new Error("the audit trail is written to by too many at once");
  }

  /**
   * @param asked.before The number of the first entry that is too new; left out: no entry is.
   * @throws RpcError while the state is away.
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

/** Where an actor's entry is: the one after the last that is kept takes the place of the oldest. */
const placeOf = (owner: string, count: number): string =>
  `audit of ${owner} ${count % KEPT_ENTRIES}`;

function readIndex(text: string | undefined): Index {
  const { end = 0, counts = [] } = JSON.parse(text ?? "{}") as {
    readonly end?: number;
    readonly counts?: readonly (readonly [string, number])[];
  };
  return { end, counts: new Map(counts) };
}

/** An actor's entries with smaller numbers than `until`. Its numbers rise with its count. */
async function* newestFirst(
  {
    owner,
    count,
    until,
  }: { readonly owner: string; readonly count: number; readonly until: number },
  state: AuditTrailParts["state"],
): AsyncGenerator<AuditEntry> {
  /** @returns undefined for what another version wrote in another form. */
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
      // Its place was taken by a newer one meanwhile.
      if (!entry || entry.number >= last) continue;
      last = entry.number;
      yield entry;
    }
  }
}

/** Of rows that fall, the largest first. */
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
