// One process keeps a store: a second one is told so before it does harm. The lock is the operating system's,
// on a file: it ends with the process that has it, whichever way, and holds between containers of one machine.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The store's folder cannot be used; the message says why and what to do. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** A SQLite error code: somebody else has the lock. */
const BUSY = 5;
/** Who only looks whether a folder is kept has its lock for a moment: longer than that nobody is waited for here. */
const LOOKS_MS = 200;

/**
 * Makes the folder where it is not there, and locks it for this process.
 *
 * @returns How to unlock it.
 * @throws StoreUnavailable
 */
export function lockStore(folder: string): () => void {
  const lock = tryLock(folder, LOOKS_MS);
  if (!lock) {
    throw new StoreUnavailable(
      `data: ${writerOf(folder)} keeps ${folder} already; stop it, or give this gateway another folder (data)`,
    );
  }
  const mark = markIn(folder);
  try {
    // For people only: a number means nothing in another container, or once its process is gone.
    writeFileSync(mark, `${process.pid} ${hostname()}`, { mode: 0o600 });
  } catch {
    // On a full disk nobody is told: the lock holds all the same.
  }
  return () => {
    rmSync(mark, { force: true });
    lock.close();
  };
}

/** Who keeps the folder now, in words; undefined when nobody does. @throws StoreUnavailable */
export function writerIn(folder: string): string | undefined {
  const lock = tryLock(folder, 0);
  lock?.close();
  return lock ? undefined : writerOf(folder);
}

/** Who has the lock, as far as it is known. */
function writerOf(folder: string): string {
  try {
    const [pid, host] = readFileSync(markIn(folder), "utf8").split(" ");
    if (pid) return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
  } catch {
    // It has the lock, and has not said who it is.
  }
  return "another process";
}

const markIn = (folder: string): string => join(folder, "writer.pid");

/** Node.js has no file locks of its own; SQLite has them, and writes nothing while it only locks. */
function tryLock(folder: string, waitMs: number): DatabaseSync | undefined {
  const path = join(folder, "writer.lock");
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    makeFile(path);
    database = new DatabaseSync(path, { timeout: waitMs });
    database.exec("PRAGMA journal_mode = MEMORY"); // a journal beside it would need room on the disk
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (cause) {
    database?.close();
    if ((cause as { errcode?: number }).errcode === BUSY) return undefined;
    throw unwritable(folder, cause);
  }
}

/** A file that is there is left alone: whoever opens and closes it loses its process's locks on it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function unwritable(folder: string, cause: unknown): StoreUnavailable {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new StoreUnavailable(
    `data: cannot write to ${folder} (${code === "ERR_SQLITE_ERROR" ? message : code}); choose a folder that this user may write (data)`,
    { cause },
  );
}
