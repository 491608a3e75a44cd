// The shared state of one machine: an LMDB environment that all its processes read and write.

import { open, type RootDatabase } from "lmdb";
import type { Logger } from "pino";
import { checkEnvironment } from "../disk/check-environment.ts";
import { makeLockFile, makePrivateFolder, refuseFullDisk } from "../disk/environment-folder.ts";
import { NotWritable, Writable } from "../disk/writable.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { OperationId } from "../lib/outbox.ts";
import {
  addIn,
  appendIn,
  DONE_PREFIX,
  forgottenOperations,
  once,
  readJournalIn,
  type TextTable,
  takeIn,
  updateIn,
} from "./operations.ts";
import { type Entry, RefusedState, type State, type Updated } from "./state.ts";

export type LmdbStateParts = {
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onWritableChange?: ((isWritable: boolean) => void) | undefined;
};

const MEANWHILE =
  "known keys keep working, limits are counted in memory, usage is written later, filters and changes of keys are refused";
/** The parts for a command that reads something, or makes one change, and ends. */
const SILENT: LmdbStateParts = {
  clock: systemClock,
  log: { info: () => undefined, warn: () => undefined },
};
const PROBE_KEY = "probe";
const SWEPT_EVERY_MS = 3_600_000;

export class LmdbState implements State {
  readonly #root: RootDatabase<string, string>;
  readonly #writable: Writable;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #parts: LmdbStateParts;
  /** Used inside a transaction. */
  readonly #table: TextTable = {
    get: (key) => this.#root.get(key),
    set: (key, text) => {
      if (text === undefined) this.#root.removeSync(key);
      else this.#root.putSync(key, text);
    },
  };

  /** @param options.path A folder; made if missing. @throws RefusedState, or the error of a failed read or write. */
  constructor({ path }: { path: string }, parts: LmdbStateParts = SILENT) {
    makePrivateFolder(path);
    refuseDamaged(path);
    refuseFullDisk(path);
    makeLockFile(path);
    this.#root = open<string, string>({
      ...{ path, noSubdir: false, encoding: "string" },
      // With event turn batching, each failed write would leave a rejected promise that no code can handle.
      eventTurnBatching: false,
      // An opening by another process sets back the number of the last transaction to the newest one on the disk, and with
      // overlapping flushes that one is often not the last (docs/decisions/0072).
      overlappingSync: false,
    });
    makePrivateFolder(path); // again, for the files that `open` made
    this.#parts = parts;
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

  readonly get: State["get"] = async (key) => {
    this.#lookAgain();
    return this.#root.get(key);
  };

  readonly list: State["list"] = async (prefix) => {
    this.#lookAgain();
    return [...this.#entriesFrom(prefix)];
  };

  readonly update: State["update"] = async (keys, next, { id } = {}) => {
    let updated: Updated | undefined;
    const act = (): string | undefined => {
      updated = updateIn(this.#table, keys, next);
      return updated.isChanged ? "" : undefined;
    };
    return this.#write(() => {
      if (id) this.#once(id, act);
      else act();
      return updated ?? { isChanged: true, texts: keys.map(this.#table.get) };
    });
  };

  readonly take: State["take"] = async (key, request, id) => {
    // `act` reads the clock in its transaction, not when the caller asked.
    const act = (): string =>
      JSON.stringify(takeIn(this.#table, key, request, this.#parts.clock.wallTime()));
    return JSON.parse(await this.#write(() => this.#once(id, act)));
  };

  readonly add: State["add"] = async (additions, id) => {
    const act = (): string => {
      addIn(this.#table, additions);
      return "";
    };
    await this.#write(() => this.#once(id, act));
  };

  readonly append: State["append"] = (journal, request) =>
    this.#write(() => appendIn(this.#table, journal, request));

  readonly readFrom: State["readFrom"] = async (journal, at) => {
    this.#lookAgain();
    return readJournalIn(this.#table, journal, at);
  };

  async close(): Promise<void> {
    this.#writable.close();
    await this.#root.close();
  }

  #once<Answer extends string | undefined>(id: OperationId, act: () => Answer): Answer | string {
    const nowMs = this.#parts.clock.wallTime();
    if (nowMs - this.#sweptAtMs >= SWEPT_EVERY_MS) {
      this.#sweptAtMs = nowMs;
      for (const key of forgottenOperations(this.#entriesFrom(DONE_PREFIX), nowMs))
        this.#table.set(key, undefined);
    }
    return once(this.#table, { ...id, nowMs }, act);
  }

  /** Does all of `act` or nothing. Once the promise resolves, the change is on the disk. */
  async #write<Value>(act: () => Value): Promise<Value> {
    try {
      return await this.#writable.run(() => this.#root.transaction(act));
    } catch (error) {
      if (error instanceof NotWritable) throw errors.stateNotWritable(error.message, error);
      throw error;
    }
  }

  *#entriesFrom(prefix: string): Generator<Entry> {
    for (const { key, value } of this.#root.getRange({ start: prefix })) {
      if (!key.startsWith(prefix)) return;
      yield { key, text: value };
    }
  }

  /** Makes the next read see the writes of other processes: LMDB keeps a read transaction for some milliseconds. */
  #lookAgain(): void {
    this.#root.resetReadTxn();
  }
}

/** @throws RefusedState when the file is damaged; errors of the file system. */
function refuseDamaged(folder: string): void {
  const check = checkEnvironment(folder, { mayGoOn: () => true });
  if (check.kind !== "damaged") return;
  throw new RefusedState(
    `data: the state in ${folder} is damaged (${check.why}). It has the keys that were made, the filters, and what was counted: ` +
      "restore a copy of the folder, or move it away to begin without them",
  );
}
