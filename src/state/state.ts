// The state: the data that several processes or machines share beside the chain, as documents, counters, limits and
// journals, in small texts under keys. A key is words with spaces between them; its first word is its group.
//
// Each operation is one step: no process sees half of it. An operation resolves when its result survives the death of
// this process. An operation rejects within a second, with stateUnavailable or stateNotWritable, when the state cannot
// do it, or when nobody can tell whether it happened. Reads reject in the same way. A caller may repeat an operation
// under its id (lib/outbox.ts does so): it happens once, and for `keptMs` a repetition gets the first answer.
import type { OperationId } from "../lib/outbox.ts";
import type { TakeRequest } from "../lib/token-bucket.ts";

export type State = {
  /** The text under a key; undefined when the key has no text. */
  get(key: string): Promise<string | undefined>;
  /**
   * All entries whose keys begin with the prefix, in the order of the keys' bytes in UTF-8. The list may have or lack
   * entries that others add or remove meanwhile.
   * @param prefix At least the first word and a space.
   */
  list(prefix: string): Promise<readonly Entry[]>;
  /**
   * Changes documents of one group together.
   *
   * @param next Gives the new texts under the keys; undefined changes nothing. `next` is pure: the state calls it again
   * when another process was faster.
   */
  update(keys: readonly string[], next: Next, options?: UpdateOptions): Promise<Updated>;
  /** Returns units to the limit under the key, books units, and takes units, by the state's own clock. */
  take(key: string, request: TakeRequest, id: OperationId): Promise<TakeResult>;
  /** Adds to counters of one group. A counter that does not exist begins at 0. */
  add(additions: readonly Addition[], id: OperationId): Promise<void>;
  /**
   * Adds items to a journal: a row of texts with rising numbers, whose oldest texts the state removes. The position is
   * the operation's id: if the append happened before, or another process was faster, the journal is longer than
   * expected, and the result has the items that stand at that position.
   */
  append(journal: string, request: AppendRequest): Promise<JournalPart>;
  /** At most `MOST_ITEMS` items from this number on, or from the oldest item that is left. */
  readFrom(journal: string, at: number): Promise<JournalPart>;
  /** The reason why the state cannot be written now, for operators; undefined if it can, or this process cannot know. */
  readonly whyNotWritable?: () => string | undefined;
  /** Whether the text that readers see under the key is held in memory, and not written yet (`HeldState`). */
  isHeld?(key: string): boolean;
  close(): Promise<void>;
};

/**
 * The gateway refuses to open the state, since the state is damaged or has a newer format: an operator must decide about
 * the API keys in it. The message says what is wrong, and what to do.
 */
export class RefusedState extends Error {
  override readonly name = "RefusedState";
}

export type Entry = { readonly key: string; readonly text: string };

/** The texts under the keys of an update, in the order of the keys; undefined where a key has no text. */
export type Texts = readonly (string | undefined)[];
export type Next = (texts: Texts) => Texts | undefined;

export type UpdateOptions = {
  /** The texts that the caller believes to be present: if they are, the state need not read them first. */
  readonly known?: Texts;
  /** Without an id a repetition is another update. */
  readonly id?: OperationId;
  /**
   * A `HeldState` that cannot be written holds an urgent change in memory, and calls `next` again when it writes the
   * change: the change may happen twice. Other states ignore the flag.
   */
  readonly isUrgent?: boolean;
};

export type Updated = {
  /** false when `next` gave undefined. */
  readonly isChanged: boolean;
  /** The texts after the update. */
  readonly texts: Texts;
};

export type TakeResult = {
  /** The units that the process may spend. */
  readonly granted: number;
  /** The units of the limit that remain afterwards. */
  readonly left: number;
};

/** Arrays of numbers, by two names. */
export type CounterTree = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

export type Addition = { readonly key: string; readonly counts: CounterTree };

export type AppendRequest = {
  /** The state adds the items only if the journal ends at this number. */
  readonly at: number;
  readonly items: readonly string[];
  /** The journal keeps at least this many of the newest items, and at most an eighth more. */
  readonly kept: number;
  /** The lowest end of the journal. A journal that ends earlier loses all its items, and goes on from this number. */
  readonly least?: number;
};

export type JournalPart = {
  /** The number of the oldest item of the journal. */
  readonly first: number;
  /** The number of the next item to be added. */
  readonly end: number;
  /** The number of the first item of `items`. */
  readonly from: number;
  readonly items: readonly string[];
};

/** The keys of a journal; see `State.append`. Its items are entries of the state, too. */
export function journalKeys(journal: string): { first: string; end: string; items: string } {
  const [group, name] = [groupOf(journal), journal.slice(groupOf(journal).length + 1)];
  return {
    first: `${group} _first ${name}`,
    end: `${group} _end ${name}`,
    items: `${journal} `,
  };
}

/** The most items in one JournalPart. */
export const MOST_ITEMS = 4_096;

/** The reason of the state why the gateway is not ready: one line, or none. */
export function whyStateNotWritable(state: Pick<State, "whyNotWritable">): readonly string[] {
  const why = state.whyNotWritable?.();
  return why === undefined ? [] : [`the state cannot be written: ${why}`];
}

/** The group that a key belongs to. */
export const groupOf = (key: string): string => key.split(" ", 1)[0] ?? "";

/** The group of all these keys. @throws When the keys are of several groups: no store could change them in one step. */
export function oneGroupOf(keys: readonly string[]): string {
  const groups = new Set(keys.map(groupOf));
  const [group = ""] = groups;
  if (groups.size > 1) throw new Error(`a change of several groups: ${[...groups].join(", ")}`);
  return group;
}

/** The error of an operation that arrives after a later operation of its slot: its sender no longer waits for it. */
export const SUPERSEDED_OPERATION = "a later operation of this slot has happened";
