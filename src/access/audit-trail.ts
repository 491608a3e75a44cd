// Who changed what, and when: a journal in the state that all gateways share. It is kept over restarts, and its oldest
// entries are forgotten. It has names, addresses and what the log says of a change, and no secrets.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
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

const JOURNAL = "audit trail";
const MOST_DETAILS = 50;
/** In characters. */
const LONGEST_DETAIL = 200;
/** How often an entry is appended again after another gateway was faster. */
const TRIES = 100;
const NEWEST = 2 ** 40;

/** At least this many entries are kept. */
export const KEPT_ENTRIES = 10_000;
export const MOST_ENTRIES = 1_000;

export type AuditTrailParts = {
  readonly state: Pick<State, "append" | "readFrom">;
  readonly clock: Pick<Clock, "wallTime">;
  readonly log: Pick<Logger, "error">;
};

export class AuditTrail {
  /** The number of the next entry, as far as this process knows. */
  #end: number | undefined;
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
    const at = isoText(clock.wallTime());
    const shown = details?.slice(0, MOST_DETAILS).map((line) => line.slice(0, LONGEST_DETAIL));
    // The id makes the entry unique: the text at its number tells which gateway was faster.
    const id = randomBytes(6).toString("base64url");
    const text = JSON.stringify({ at, who, from, what, key, details: shown, id });
    this.#end ??= (await state.readFrom(JOURNAL, NEWEST)).end;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const place: number = this.#end;
      const part = await state.append(JOURNAL, { at: place, items: [text], kept: KEPT_ENTRIES });
      this.#end = part.end;
      if (part.from === place && part.items[0] === text) return;
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
    const { first, end } = await this.#parts.state.readFrom(JOURNAL, NEWEST);
    const until = Math.min(end, asked.before ?? end);
    const wanted = Math.max(first, until - Math.min(asked.limit, MOST_ENTRIES));
    if (wanted >= until) return { entries: [], next: undefined };
    const { from, items } = await this.#parts.state.readFrom(JOURNAL, wanted);
    const entries = items
      .slice(0, Math.max(0, until - from))
      .flatMap((text, index) => readEntry(text, from + index))
      .reverse();
    return { entries, next: from > first ? from : undefined };
  }
}

/** The entry; undefined when another version wrote it in another form. */
function readEntry(text: string, number: number): AuditEntry[] {
  try {
    const { id: _, ...entry } = JSON.parse(text) as Omit<AuditEntry, "number"> & { id: string };
    return [{ number, ...entry }];
  } catch {
    return [];
  }
}
