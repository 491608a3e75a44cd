// The state: what several processes, or several machines, share beside the chain. It has documents, counters, limits and
// journals, each as small texts under keys. A key is words with spaces between them; its first word is its group.
//
// Each operation is one step: no process sees half of it. It resolves when its result survives the death of this process.
// An operation rejects within a second, with stateUnavailable or stateNotWritable, when the state cannot do it, or when
// nobody can tell whether it was done. Reads reject in the same way. An operation with an id may be repeated under that
// id (lib/outbox.ts does so): it is done once, and the repetition gets the first answer, for as long as the id says.
import type { OperationId } from "../lib/outbox.ts";
import type { TakeRequest } from "../lib/token-bucket.ts";

export type State = {
  /** The text under a key; undefined when there is none. */
  get(key: string): Promise<string | undefined>;
  /**
   * All entries whose keys begin with the prefix, in the order of the keys' bytes in UTF-8. Entries that are added or
   * removed meanwhile may be in the list or not.
   * @param prefix At least the first word and a space.
   */
  list(prefix: string): Promise<readonly Entry[]>;
  /**
   * Changes documents of one group together.
   *
   * @param next Gives the new texts under the keys; undefined changes nothing. It is pure, and is called again when
   * another process was faster.
   */
  update(keys: readonly string[], next: Next, options?: UpdateOptions): Promise<Updated>;
  /** Returns units to the limit under the key, books and takes units of it. The state's own clock counts. */
  take(key: string, request: TakeRequest, id: OperationId): Promise<TakeResult>;
  /** Adds to counters of one group. A counter that does not exist begins at 0. */
  add(additions: readonly Addition[], id: OperationId): Promise<void>;
  /**
   * Adds items to a journal: a row of texts with rising numbers, whose oldest texts are removed. It needs no id, since
   * its position is one: if the append was done before, or another process was faster, the journal is longer than
   * expected, and the answer has the items that are there instead.
   */
  append(journal: string, request: AppendRequest): Promise<JournalPart>;
  /** A few thousand items from this number on, or from the oldest one that is kept. */
  readFrom(journal: string, at: number): Promise<JournalPart>;
  /** Why the state cannot be written now, in words for a person; left out where this process cannot know. */
  readonly whyNotWritable?: () => string | undefined;
  /** Whether what is read under the key is not kept yet. */
  isHeld?(key: string): boolean;
  close(): Promise<void>;
};

/**
 * The state is not opened, since it is damaged or has a newer format: a person must decide what happens to the keys in
 * it. The message says what is wrong, and what can be done.
 */
export class RefusedState extends Error {
  override readonly name = "RefusedState";
}

export type Entry = { readonly key: string; readonly text: string };

/** The texts under the keys of an update, in the order of the keys; undefined where there is none. */
export type Texts = readonly (string | undefined)[];
export type Next = (texts: Texts) => Texts | undefined;

export type UpdateOptions = {
  /** The present texts as far as the caller knows: when they are right, nothing has to be read. */
  readonly known?: Texts;
  /** Left out: a repetition is another update. */
  readonly id?: OperationId;
  /**
   * It holds at once, and is kept when the state can be written again: see `HeldState`. Other states make no difference.
   * `next` is asked again then: the change may come twice.
   */
  readonly isUrgent?: boolean;
};

export type Updated = {
  /** false when `next` left the texts as they are. */
  readonly isChanged: boolean;
  /** The texts after the update. */
  readonly texts: Texts;
};

export type TakeResult = {
  /** How many units the process may spend. */
  readonly granted: number;
  /** How many units were left after it. */
  readonly left: number;
};

/** Numbers in JSON arrays, by two names. */
export type CounterTree = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

export type Addition = { readonly key: string; readonly counts: CounterTree };

export type AppendRequest = {
  /** The items are added only when the journal ends here. */
  readonly at: number;
  readonly items: readonly string[];
  /** At least this many of the newest items are kept, and at most an eighth more. */
  readonly kept: number;
  /** The journal ends here or later. A journal that ends earlier loses all its items, and goes on from here. */
  readonly least?: number;
};

export type JournalPart = {
  /** The number of the oldest item that is kept. */
  readonly first: number;
  /** The number that the next item gets. */
  readonly end: number;
  /** The number of the first of the items. */
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

/** The most items of one answer. */
export const MOST_ITEMS = 4_096;

/** Why the gateway is not ready because of the state: one line, or none. */
export function whyStateNotWritable(state: Pick<State, "whyNotWritable">): readonly string[] {
  const why = state.whyNotWritable?.();
  return why === undefined ? [] : [`the state cannot be written: ${why}`];
}

/** The group that a key belongs to. */
export const groupOf = (key: string): string => key.split(" ", 1)[0] ?? "";

/** The group of all these keys. @throws When they are of several groups, which no store could change in one step. */
export function oneGroupOf(keys: readonly string[]): string {
  const groups = new Set(keys.map(groupOf));
  const [group = ""] = groups;
  if (groups.size > 1) throw new Error(`a change of several groups: ${[...groups].join(", ")}`);
  return group;
}

/** The error of an operation that came after a later one of its slot: nobody waits for it any more. */
export const TOO_LATE = "a later operation of this slot has happened";
