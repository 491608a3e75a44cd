// What several processes, or several machines, share beside the chain: documents, counters, limits and
// journals, each a small text under a key or several. A key is words with spaces between them; its first
// word is its group.
//
// Each operation is one step: nobody sees half of it, and it resolves when it survives the death of this
// process. Each rejects within a second with stateUnavailable or stateNotWritable when the state cannot
// do it, or when nobody can tell whether it did; reading rejects alike. An operation with an id may be
// sent again under that id: it happens once, and the repetition is told what the first was
// (lib/outbox.ts does so), for as long as the id says.
import type { OperationId } from "../lib/outbox.ts";
import type { TakeRequest } from "../lib/token-bucket.ts";

export type State = {
  /** The text under a key; undefined when there is none. */
  get(key: string): Promise<string | undefined>;
  /**
   * All that is under keys which begin with the prefix, in the order of the keys' bytes in UTF-8. What
   * comes or goes meanwhile may be in it or not.
   *
   * @param prefix The first word and a space at least.
   */
  list(prefix: string): Promise<readonly Entry[]>;
  /**
   * Changes documents of one group together.
   *
   * @param next What becomes of the texts under the keys; undefined leaves them. Pure: it is asked again
   * when another process was faster.
   */
  update(keys: readonly string[], next: Next, options?: UpdateOptions): Promise<Updated>;
  /** Gives back, books and takes units of the limit under the key, by the state's own clock. */
  take(key: string, request: TakeRequest, id: OperationId): Promise<TakeResult>;
  /** Adds to counters of one group; those that are not there begin at 0. */
  add(additions: readonly Addition[], id: OperationId): Promise<void>;
  /**
   * Adds items to a journal: a row of texts with rising numbers, the oldest forgotten. It needs no id: its
   * position is one. Whoever repeats an append that happened, or comes second, finds the journal longer,
   * and is told what is there instead.
   */
  append(journal: string, request: AppendRequest): Promise<JournalPart>;
  /** The items from the number on, or from the oldest that is kept; a few thousand at once. */
  readFrom(journal: string, at: number): Promise<JournalPart>;
  /** Why it cannot be written now, in words for a person; undefined where that is not known here. */
  readonly whyNotWritable?: () => string | undefined;
  /** Whether what is read under the key is not kept yet. */
  isHeld?(key: string): boolean;
  close(): Promise<void>;
};

/**
 * It is not opened: damaged, or of a newer format. Only a person can say what is to become of the keys in it. The message
 * says what is wrong, and what can be done.
 */
export class RefusedState extends Error {
  override readonly name = "RefusedState";
}

export type Entry = { readonly key: string; readonly text: string };

/** Of the keys of an update, in their order; undefined: nothing is there. */
export type Texts = readonly (string | undefined)[];
export type Next = (texts: Texts) => Texts | undefined;

export type UpdateOptions = {
  /** What is there as far as the caller knows: when it is right, nothing has to be read. */
  readonly known?: Texts;
  /** Without one a repetition is another update. */
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
  /** As they are now. */
  readonly texts: Texts;
};

export type TakeResult = {
  /** What the process may spend. */
  readonly granted: number;
  /** What was left after it. */
  readonly left: number;
};

/** Numbers in JSON arrays, by two names. */
export type CounterTree = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

export type Addition = { readonly key: string; readonly counts: CounterTree };

export type AppendRequest = {
  /** The items are added only when the journal ends here. */
  readonly at: number;
  readonly items: readonly string[];
  /** At least so many of the newest items are kept, and an eighth more at most. */
  readonly kept: number;
  /** The journal ends here or later: a shorter one forgets all, and goes on from here. */
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

/** A journal of a group; see `State.append`. Its items are entries of the state, too. */
export function journalKeys(journal: string): { first: string; end: string; items: string } {
  const [group, name] = [groupOf(journal), journal.slice(groupOf(journal).length + 1)];
  return {
    first: `${group} _first ${name}`,
    end: `${group} _end ${name}`,
    items: `${journal} `,
  };
}

/** Of one answer. */
export const MOST_ITEMS = 4_096;

/** For readiness: one line, or none. */
export function whyStateNotWritable(state: Pick<State, "whyNotWritable">): readonly string[] {
  const why = state.whyNotWritable?.();
  return why === undefined ? [] : [`the state cannot be written: ${why}`];
}

/** The group that a key belongs to. */
export const groupOf = (key: string): string => key.split(" ", 1)[0] ?? "";

/** @throws When the keys are of several groups, which no store could change in one step. */
export function oneGroupOf(keys: readonly string[]): string {
  const groups = new Set(keys.map(groupOf));
  const [group = ""] = groups;
  if (groups.size > 1) throw new Error(`a change of several groups: ${[...groups].join(", ")}`);
  return group;
}

/** Of an operation that came after a later one of its slot: it is too late, and nobody waits for it. */
export const TOO_LATE = "a later operation of this slot has happened";
