// The folder of an LMDB environment: private to this user, locked by the one process that writes it, and checked before
// LMDB opens its file. A damaged file is renamed, and a new one takes its place. A mark in the folder says whether the
// previous process closed the file, or died while it opened the file or had it open.
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../lib/clock.ts";
import { checkEnvironment } from "./check-environment.ts";
import { makeFolder } from "./make-folder.ts";
import { FULL_BELOW_BYTES, roomOn } from "./writable.ts";

/** The error of a store whose folder cannot be used; the message says why and what to do. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** The opening of an environment: the damage that was found, and functions by which the opener reports its progress. */
export type Opening = {
  /** The damage of the old file, and the name under which that file is kept now; undefined when the file was sound. */
  readonly damage: { readonly why: string; readonly keptAs: string | undefined } | undefined;
  opened(): void;
  /** Called when the file has been in use for a while: the next death of a process counts as the first. */
  confirmUse(): void;
  closed(): void;
};

/**
 * The time for checks of leaves, in milliseconds; the pages above them are always checked. The time is bounded, since
 * the supervisor kills a process that sends no heartbeat during a long check.
 */
const LOOKED_AT_MS = { usually: 100, afterDeath: 1_000, afterDeaths: 3_000 };
/** If more processes in a row died, the last one during the opening, a file is replaced although its pages seem sound. */
const MOST_DEATHS_OPENING = 2;

/**
 * Locks the folder for this process, and begins the opening of its file.
 *
 * @returns The opening; `closed` unlocks the folder, too.
 * @throws StoreUnavailable
 */
export function takeFolder(
  folder: string,
  parts: { readonly clock: Pick<Clock, "now" | "wallTime"> },
): Opening {
  const unlock = lockStore(folder);
  try {
    const opening = beginOpening(folder, parts);
    const closed = (): void => {
      opening.closed();
      unlock();
    };
    return { ...opening, closed };
  } catch (cause) {
    unlock();
    if (cause instanceof StoreUnavailable) throw cause;
    const { message } = cause as Error;
    throw new StoreUnavailable(`data: ${folder} cannot be opened: ${message}`, { cause });
  }
}

/** Checks the file, renames it if damaged, and marks the folder. @throws StoreUnavailable; errors of the file system. */
export function beginOpening(
  folder: string,
  { clock }: { readonly clock: Pick<Clock, "now" | "wallTime"> },
): Opening {
  makePrivateFolder(folder);
  const left = readMark(folder);
  const deaths = left ? left.deaths + 1 : 0;
  const why = whyNotOpened(folder, { left, deaths }, clock);
  const keptAs = why === undefined ? undefined : setAside(folder, clock.wallTime());
  refuseFullDisk(folder);
  makeLockFile(folder);
  writeMark(folder, { phase: "opening", deaths: why === undefined ? deaths : 0 });
  return {
    damage: why === undefined ? undefined : { why, keptAs },
    opened: () => {
      makePrivateFolder(folder); // again, for the files that LMDB made
      writeMark(folder, { phase: "open", deaths: why === undefined ? deaths : 0 });
    },
    confirmUse: () => writeMark(folder, { phase: "open", deaths: 0 }),
    closed: () => rmSync(markIn(folder), { force: true }),
  };
}

function whyNotOpened(
  folder: string,
  { left, deaths }: { readonly left: Mark | undefined; readonly deaths: number },
  clock: Pick<Clock, "now">,
): string | undefined {
  const isSuspect = left?.phase === "opening" || deaths > 1;
  const until =
    clock.now() +
    LOOKED_AT_MS[isSuspect ? "afterDeaths" : left === undefined ? "usually" : "afterDeath"];
  const check = checkEnvironment(folder, { mayGoOn: () => clock.now() < until });
  if (check.kind === "damaged") return check.why;
  const diesOpening = left?.phase === "opening" && deaths > MOST_DEATHS_OPENING;
  return diesOpening && check.kind === "sound" ? "processes died while they opened it" : undefined;
}

/** An id of the folder's file: a replacement under the same name has another id. */
export function fileIdOf(folder: string): string {
  const { ino, birthtimeMs } = statSync(join(folder, "data.mdb"));
  return `${ino} ${birthtimeMs}`;
}

// The mark in the folder.

type Mark = {
  readonly phase: "opening" | "open";
  /** The number of processes in a row that died without closing the file. */
  readonly deaths: number;
};

const markIn = (folder: string): string => join(folder, "in-use");

function readMark(folder: string): Mark | undefined {
  try {
    const [phase, deaths] = readFileSync(markIn(folder), "utf8").split(" ");
    return { phase: phase === "opening" ? phase : "open", deaths: Number(deaths) || 0 };
  } catch {
    return undefined;
  }
}

/** Writes the mark, but not on a full disk: then the process after a death knows less. */
function writeMark(folder: string, { phase, deaths }: Mark): void {
  try {
    writeFileSync(markIn(folder), `${phase} ${deaths}`, { mode: 0o600 });
  } catch {
    // The gateway works without a mark.
  }
}

// A damaged file stays beside the new file, for operators to examine: only one such file, and only if the disk has room
// for a new file.

const FILE = "data.mdb";
const DAMAGED = `${FILE}.damaged-`;

/**
 * @param wallTimeMs The new name has this time, in seconds since 1970.
 * @returns The new name; undefined where the disk had no room to keep the file.
 * @throws Errors of the file system.
 */
function setAside(folder: string, wallTimeMs: number): string | undefined {
  for (const name of readdirSync(folder))
    if (name.startsWith(DAMAGED)) rmSync(join(folder, name), { force: true });
  // A damaged table of readers may have killed the processes: the opening makes a new one.
  rmSync(join(folder, "lock.mdb"), { force: true });
  const { size } = statSync(join(folder, FILE));
  if (roomOn(statfsSync(folder)) <= size) {
    rmSync(join(folder, FILE), { force: true });
    return undefined;
  }
  const name = `${DAMAGED}${Math.floor(wallTimeMs / 1000)}`;
  renameSync(join(folder, FILE), join(folder, name));
  return name;
}

/** Refuses a full disk: LMDB crashes a process that has no room to begin a new file. @throws StoreUnavailable */
export function refuseFullDisk(folder: string): void {
  if (existsSync(join(folder, FILE))) return;
  if (roomOn(statfsSync(folder)) < FULL_BELOW_BYTES)
    throw new StoreUnavailable(
      `data: no space is left on the disk of ${folder}: make room, or choose another folder (data, or HEADGATE_DATA)`,
    );
}

/** The size of LMDB's table of 126 readers, in bytes. */
const LOCK_FILE_BYTES = 8_272;

/**
 * Makes the whole file of LMDB's table of readers, or no file. LMDB writes this table through mapped memory: where the
 * disk had no room for a part of the file, the system would kill the process.
 * @throws Errors of the file system, as on a full disk.
 */
export function makeLockFile(folder: string): void {
  const path = join(folder, "lock.mdb");
  const draft = `${path}.${process.pid}`;
  if (existsSync(path)) return;
  try {
    writeFileSync(draft, Buffer.alloc(LOCK_FILE_BYTES), { mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    // EEXIST: another process made the file meanwhile, and may use it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/**
 * Makes the folder if missing, and gives access to it and its files to this user alone: an earlier version let other
 * users read its files.
 * @throws Errors of the file system.
 */
export function makePrivateFolder(path: string): void {
  makeFolder(path);
  allow(path, PRIVATE_FOLDER);
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isFile()) allow(join(path, entry.name), PRIVATE_FILE);
}

/** Sets the mode, except where the folder or file belongs to another user, who shares it with this one. */
function allow(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EPERM", "EROFS", "ENOENT"].includes(code)) throw error;
  }
}

// The lock is a lock of the operating system on a file. The lock ends with its process, however the process ends, and
// holds between containers of one machine.

/** A SQLite error code: another process has the lock. */
const BUSY = 5;
/** The time that `lockStore` waits for a lock: `writerIn` of another process holds it briefly. In milliseconds. */
const LOOKS_MS = 200;

/**
 * Makes the folder if missing, and locks the folder for this process.
 * @returns A function that unlocks the folder. @throws StoreUnavailable
 */
export function lockStore(folder: string): () => void {
  const lock = tryLock(folder, LOOKS_MS);
  if (!lock) {
    throw new StoreUnavailable(
      `data: ${writerOf(folder)} uses ${folder} already; stop it, or give this gateway another folder (data)`,
    );
  }
  const mark = writerFileIn(folder);
  try {
    // The file serves messages only: its number means nothing in another container, or after the end of the process.
    writeFileSync(mark, `${process.pid} ${hostname()}`, { mode: 0o600 });
  } catch {
    // A full disk has no room for this file; the lock holds all the same.
  }
  return () => {
    rmSync(mark, { force: true });
    lock.close();
  };
}

/** The process that has locked the folder, in words; undefined while the folder is unlocked. @throws StoreUnavailable */
export function writerIn(folder: string): string | undefined {
  const lock = tryLock(folder, 0);
  lock?.close();
  return lock ? undefined : writerOf(folder);
}

/** The process that has the lock, in words, as far as the folder tells. */
function writerOf(folder: string): string {
  try {
    const [pid, host] = readFileSync(writerFileIn(folder), "utf8").split(" ");
    if (pid) return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
  } catch {
    // The process has locked the folder, but has not written its number.
  }
  return "another process";
}

const writerFileIn = (folder: string): string => join(folder, "writer.pid");

/** Locks through SQLite, which writes nothing here: Node.js has no file locks. @returns undefined if locked already. */
function tryLock(folder: string, waitMs: number): DatabaseSync | undefined {
  const path = join(folder, "writer.lock");
  let database: DatabaseSync | undefined;
  try {
    makeFolder(folder);
    makeFile(path);
    database = new DatabaseSync(path, { timeout: waitMs });
    database.exec("PRAGMA journal_mode = MEMORY"); // a journal file would need room on the disk
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (cause) {
    database?.close();
    if ((cause as { errcode?: number }).errcode === BUSY) return undefined;
    throw unwritable(folder, cause);
  }
}

/** Makes the file if missing. A process must not open and close an existing one: it would lose its locks on the file. */
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
    `data: cannot write to ${folder} (${code === "ERR_SQLITE_ERROR" ? message : code}); choose a folder that this user may write (data, or HEADGATE_DATA)`,
    { cause },
  );
}
