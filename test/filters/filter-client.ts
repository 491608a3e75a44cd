// A client that only applies its filter's items: it adds logs, and takes away the removed ones.
import { expect } from "vitest";

export type Log = {
  readonly blockHash: string;
  readonly logIndex: string;
  readonly removed: boolean;
};

const nameOf = ({ blockHash, logIndex }: Log): string => `${blockHash} ${logIndex}`;

export class FilterClient {
  /** Allows items again that came before: after a crash it is unknown whether the last answer arrived. */
  mayHearAgain = false;
  readonly hashes: string[] = [];
  readonly #logs: Map<string, Log>;

  /** @param logs The result of a query at the time when the filter was made. */
  constructor(logs: readonly Log[] = []) {
    this.#logs = new Map(logs.map((log) => [nameOf(log), log]));
  }

  hear(items: readonly (Log | string)[]): void {
    for (const item of items) {
      if (typeof item === "string") this.hashes.push(item);
      else this.#apply(item);
    }
  }

  #apply(log: Log): void {
    const name = nameOf(log);
    if (!this.mayHearAgain)
      expect(this.#logs.has(name), "heard twice, or of nothing").toBe(log.removed);
    if (log.removed) this.#logs.delete(name);
    else this.#logs.set(name, log);
  }

  expectLogs(canonical: readonly Log[]): void {
    expect([...this.#logs.keys()].toSorted()).toEqual(canonical.map(nameOf).toSorted());
  }

  /** Expects that the last hash of each block number is the canonical one. */
  expectHashes(canonical: readonly string[], heightOf: (hash: string) => number | undefined): void {
    const last = new Map(this.hashes.map((hash) => [heightOf(hash), hash]));
    for (const hash of canonical) expect(last.get(heightOf(hash))).toBe(hash);
    if (!this.mayHearAgain) expect(new Set(this.hashes).size).toBe(this.hashes.length);
  }
}
