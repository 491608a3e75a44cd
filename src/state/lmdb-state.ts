// The shared state of one machine: an LMDB environment that all its processes read and write.
import { open, type RootDatabase } from "lmdb";
import type { Entry, State } from "./state.ts";

/** Behind every character that keys are made of. */
const LAST = "\uffff";

export class LmdbState implements State {
  readonly #root: RootDatabase<string, string>;

  /** @param options.path A folder; made when it is not there. @throws When it cannot be read or written. */
  constructor({ path }: { path: string }) {
    this.#root = open<string, string>({ path, noSubdir: false, encoding: "string" });
  }

  async get(key: string): Promise<string | undefined> {
    return this.#root.get(key);
  }

  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean> {
    return this.#root.transaction(() => {
      if (this.#root.get(key) !== expected) return false;
      if (next === undefined) this.#root.removeSync(key);
      else this.#root.putSync(key, next);
      return true;
    });
  }

  async list(prefix: string): Promise<readonly Entry[]> {
    const range = this.#root.getRange({ start: prefix, end: prefix + LAST });
    return [...range.map(({ key, value }) => ({ key, text: value }))];
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}
