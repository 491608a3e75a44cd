// The shared state of one machine: an LMDB environment that all its processes read and write.
import { open, type RootDatabase } from "lmdb";
import { makePrivateFolder } from "../disk/private-folder.ts";
import { type Change, type Entry, oneGroupOf, type State } from "./state.ts";

export class LmdbState implements State {
  readonly #root: RootDatabase<string, string>;

  /** @param options.path A folder; made when it is not there. @throws When it cannot be read or written. */
  constructor({ path }: { path: string }) {
    makePrivateFolder(path);
    this.#root = open<string, string>({ path, noSubdir: false, encoding: "string" });
    makePrivateFolder(path); // what was made in it just now, too
  }

  async get(key: string): Promise<string | undefined> {
    this.#lookAgain();
    return this.#root.get(key);
  }

  async change(changes: readonly Change[]): Promise<boolean> {
    oneGroupOf(changes);
    return this.#root.transaction(() => {
      if (changes.some(({ key, expected }) => this.#root.get(key) !== expected)) return false;
      for (const { key, next } of changes) {
        if (next === undefined) this.#root.removeSync(key);
        else this.#root.putSync(key, next);
      }
      return true;
    });
  }

  replace(key: string, expected: string | undefined, next: string | undefined): Promise<boolean> {
    return this.change([{ key, expected, next }]);
  }

  async list(prefix: string): Promise<readonly Entry[]> {
    this.#lookAgain();
    const entries: Entry[] = [];
    for (const { key, value } of this.#root.getRange({ start: prefix })) {
      if (!key.startsWith(prefix)) break;
      entries.push({ key, text: value });
    }
    return entries;
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  /** A read sees the store as it was when reading began, some milliseconds ago: before what another process did. */
  #lookAgain(): void {
    this.#root.resetReadTxn();
  }
}
