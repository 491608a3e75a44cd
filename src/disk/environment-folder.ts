// The folder of an LMDB environment: private to this user, locked by the one process that writes it, and opened only
// after its file was checked. A damaged file is set aside, and built anew. A mark in the folder says whether the
// process before ended in order, or died while it opened the file.
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
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
import { FULL_BELOW_BYTES, roomOn } from "./writable.ts";

/** The store's folder cannot be used; the message says why and what to do. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** What was found in the folder, and what the opener reports when the file is open, and when it is closed. */
export type Opening = {
  /** What was wrong with the file, and its name now; undefined when the file was sound. */
  readonly damage: { readonly why: string; readonly keptAs: string | undefined } | undefined;
  opened(): void;
  /** To be called when the file has been in use for a while: the next death counts as the first. */
  confirmUse(): void;
  closed(): void;
};

/**
 * How long leaves are checked, in milliseconds; all pages above them are always checked. A process that checks for
 * longer than its supervisor waits for a sign of life is killed.
 */
const LOOKED_AT_MS = { usually: 100, afterDeath: 1_000, afterDeaths: 3_000 };
/** After this many deaths while it was opened, a file is not opened again, though nothing seems wrong with it. */
const MOST_DEATHS_OPENING = 2;

/**
 * Locks the folder for this process, and begins to open the file in it.
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

/** @throws StoreUnavailable; what the file system says. */
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
      makePrivateFolder(folder); // also for the files that were made just now
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

/** Identifies the file: another file may get the same name. */
export function fileIdOf(folder: string): string {
  const { ino, birthtimeMs } = statSync(join(folder, "data.mdb"));
  return `${ino} ${birthtimeMs}`;
}

// The mark in the folder.

type Mark = {
  readonly phase: "opening" | "open";
  /** How many processes in a row did not end in order. */
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

/** On a full disk no mark is written: then less is known after a death. */
function writeMark(folder: string, { phase, deaths }: Mark): void {
  try {
    writeFileSync(markIn(folder), `${phase} ${deaths}`, { mode: 0o600 });
  } catch {
    // The mark is of use only after a death.
  }
}

// A damaged file is kept beside the new one for people to look into: only one such file, and only where there is room
// for a new file.

const FILE = "data.mdb";
const DAMAGED = `${FILE}.damaged-`;

/**
 * @param wallTimeMs Becomes part of the name, in seconds since 1970.
 * @returns The name that the file has now; undefined where there was no room to keep it.
 * @throws What the file system says.
 */
function setAside(folder: string, wallTimeMs: number): string | undefined {
  for (const name of readdirSync(folder))
    if (name.startsWith(DAMAGED)) rmSync(join(folder, name), { force: true });
  // Processes may have died because of it: it is made anew with the other file.
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

/** LMDB ends the process when the disk has no room for the beginning of a new file. @throws StoreUnavailable */
export function refuseFullDisk(folder: string): void {
  if (existsSync(join(folder, FILE))) return;
  if (roomOn(statfsSync(folder)) < FULL_BELOW_BYTES)
    throw new StoreUnavailable(
      `data: no space is left on the disk of ${folder}: make room, or choose another folder (data, or HEADGATE_DATA)`,
    );
}

/** The size of the file that LMDB makes for 126 readers, in bytes. */
const LOCK_FILE_BYTES = 8_272;

/**
 * LMDB writes its table of readers through memory: where the disk has no room for a part of the file, the process would
 * be killed. So the file is made whole before, or not at all.
 * @throws What the file system says: that there is no room.
 */
export function makeLockFile(folder: string): void {
  const path = join(folder, "lock.mdb");
  const draft = `${path}.${process.pid}`;
  if (existsSync(path)) return;
  try {
    writeFileSync(draft, Buffer.alloc(LOCK_FILE_BYTES), { mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    // Another process has made the file, and may use it already.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/**
 * Makes the folder if it is missing, and denies access to it and its files to everybody but this user: files of an
 * earlier version were open to others.
 * @throws What the file system says.
 */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  allow(path, PRIVATE_FOLDER);
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isFile()) allow(join(path, entry.name), PRIVATE_FILE);
}

/** Leaves the folder as it is when it belongs to another user, who shares it with this one. */
function allow(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EPERM", "EROFS", "ENOENT"].includes(code)) throw error;
  }
}

// The lock is the operating system's, on a file. It ends with its process, however that ends, and holds between
// containers of one machine.

/** A SQLite error code: another process has the lock. */
const BUSY = 5;
/** How long a process that only checks whether a folder is locked may have its lock, in milliseconds. */
const LOOKS_MS = 200;

/**
 * Makes the folder if it is missing, and locks it for this process.
 * @returns How to unlock it. @throws StoreUnavailable
 */
export function lockStore(folder: string): () => void {
  const lock = tryLock(folder, LOOKS_MS);
  if (!lock) {
    throw new StoreUnavailable(
      `data: ${writerOf(folder)} keeps ${folder} already; stop it, or give this gateway another folder (data)`,
    );
  }
  const mark = writerFileIn(folder);
  try {
    // For people only: the number means nothing in another container, or when the process is gone.
    writeFileSync(mark, `${process.pid} ${hostname()}`, { mode: 0o600 });
  } catch {
    // On a full disk there is no such file; the lock holds all the same.
  }
  return () => {
    rmSync(mark, { force: true });
    lock.close();
  };
}

/** The process that has the folder locked now, in words; undefined when there is none. @throws StoreUnavailable */
export function writerIn(folder: string): string | undefined {
  const lock = tryLock(folder, 0);
  lock?.close();
  return lock ? undefined : writerOf(folder);
}

/** The process that has the lock, as far as it is known. */
function writerOf(folder: string): string {
  try {
    const [pid, host] = readFileSync(writerFileIn(folder), "utf8").split(" ");
    if (pid) return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
  } catch {
    // The process has the lock, and did not write its number yet.
  }
  return "another process";
}

const writerFileIn = (folder: string): string => join(folder, "writer.pid");

/** Node.js has no file locks of its own. SQLite has them, and writes nothing while it only locks. */
function tryLock(folder: string, waitMs: number): DatabaseSync | undefined {
  const path = join(folder, "writer.lock");
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
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

/** Does nothing when the file exists: a process that opens and closes it would lose its locks on it. */
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
