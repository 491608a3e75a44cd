// The shared state of one machine: an LMDB environment that all its processes read and write.
import { open, type RootDatabase } from "lmdb";
import type { Logger } from "pino";
import { makeLockFile } from "../disk/lock-file.ts";
import { makePrivateFolder } from "../disk/private-folder.ts";
import { Writable } from "../disk/writable.ts";
import { NotWritable } from "../disk/write-failure.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { refuseDamagedState } from "./damaged-state.ts";
import { type Change, type Entry, oneGroupOf, type State } from "./state.ts";

export type LmdbStateParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onWritableChange?: ((isWritable: boolean) => void) | undefined;
};

const MEANWHILE =
  "known keys go on, limits are kept in memory, the bill is written later, filters and changes of keys are refused";
/** For a command that looks something up, or changes one thing, and ends. */
const SILENT: LmdbStateParts = {
  clock: systemClock,
  log: { info: () => undefined, warn: () => undefined },
};
const PROBE_KEY = "probe";

export class LmdbState implements State {
  readonly #root: RootDatabase<string, string>;
  readonly #writable: Writable;

  /** @param options.path A folder; made when it is not there. @throws DamagedState, or when it cannot be read or written. */
  constructor({ path }: { path: string }, parts: LmdbStateParts = SILENT) {
    makePrivateFolder(path);
    refuseDamagedState(path);
    makeLockFile(path);
    this.#root = open<string, string>({
      ...{ path, noSubdir: false, encoding: "string" },
      // Else each failed write would leave a rejected promise that nobody can hold.
      eventTurnBatching: false,
    });
    makePrivateFolder(path); // what was made in it just now, too
    this.#writable = new Writable(
      { folder: path, name: "the state", meanwhile: MEANWHILE },
      {
        ...parts,
        probe: () => this.#root.put(PROBE_KEY, ""),
        onChange: (isWritable) => parts.onWritableChange?.(isWritable),
      },
    );
    parts.onWritableChange?.(true);
  }

  readonly whyNotWritable = (): string | undefined => this.#writable.why;

  async get(key: string): Promise<string | undefined> {
    this.#lookAgain();
    return this.#root.get(key);
  }

  async change(changes: readonly Change[]): Promise<boolean> {
    oneGroupOf(changes);
    try {
      return await this.#writable.run(() => this.#root.transaction(() => this.#apply(changes)));
    } catch (error) {
      if (error instanceof NotWritable) throw errors.stateNotWritable(error.message, error);
      throw error;
    }
  }

  /** Inside a transaction. */
  #apply(changes: readonly Change[]): boolean {
    if (changes.some(({ key, expected }) => this.#root.get(key) !== expected)) return false;
    for (const { key, next } of changes) {
      if (next === undefined) this.#root.removeSync(key);
      else this.#root.putSync(key, next);
    }
    return true;
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
    this.#writable.close();
    await this.#root.close();
  }

  /** A read sees the store as it was when reading began, some milliseconds ago: before what another process did. */
  #lookAgain(): void {
    this.#root.resetReadTxn();
  }
}
