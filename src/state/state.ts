// What several processes share beside the chain: small texts under keys, each changed as one step.

export type State = {
  /** The text under a key; undefined when there is none. */
  get(key: string): Promise<string | undefined>;
  /**
   * Puts `next` in the place of `expected`; undefined stands for "nothing there". Resolves when the
   * change survives the death of this process.
   *
   * @returns false, and nothing is changed, when something else is there.
   */
  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean>;
  /** All that is under keys which begin with the prefix, in the order of the keys. */
  list(prefix: string): Promise<readonly Entry[]>;
  close(): Promise<void>;
};

export type Entry = { readonly key: string; readonly text: string };
