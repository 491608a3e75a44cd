// What several processes, or several machines, share beside the chain: small texts under keys, changed
// as one step. A key is words with spaces between them; its first word is its group.

export type State = {
  /** The text under a key; undefined when there is none. */
  get(key: string): Promise<string | undefined>;
  /**
   * All of it or nothing: every key must hold what is expected. All keys are of one group. Resolves
   * when the change survives the death of this process.
   *
   * @returns false, and nothing is changed, when something else is there.
   * @throws stateUnavailable, stateNotWritable; then it may have happened or not: look before you try again.
   */
  change(changes: readonly Change[]): Promise<boolean>;
  /** A change of one key: puts `next` in the place of `expected`; undefined stands for "nothing there". */
  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean>;
  /**
   * All that is under keys which begin with the prefix, in the order of the keys' bytes in UTF-8. What
   * comes or goes meanwhile may be in it or not.
   *
   * @param prefix The first word and a space at least.
   */
  list(prefix: string): Promise<readonly Entry[]>;
  /** Why it cannot be written now, in words for a person; undefined where that is not known here. */
  readonly whyNotWritable?: () => string | undefined;
  close(): Promise<void>;
};

export type Entry = { readonly key: string; readonly text: string };

export type Change = {
  readonly key: string;
  /** What must be there; undefined: nothing. */
  readonly expected: string | undefined;
  /** What takes its place; undefined: nothing. */
  readonly next: string | undefined;
};

/** For readiness: one line, or none. */
export function whyStateNotWritable({ whyNotWritable }: State): readonly string[] {
  const why = whyNotWritable?.();
  return why === undefined ? [] : [`the state cannot be written: ${why}`];
}

/** The group that a key belongs to. */
export const groupOf = (key: string): string => key.split(" ", 1)[0] ?? "";

/** @throws When the changes are of several groups, which no store could make in one step. */
export function oneGroupOf(changes: readonly Change[]): string {
  const groups = new Set(changes.map(({ key }) => groupOf(key)));
  const [group = ""] = groups;
  if (groups.size > 1) throw new Error(`a change of several groups: ${[...groups].join(", ")}`);
  return group;
}
