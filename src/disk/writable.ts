// Knows whether a folder's environment can be written. After the disk has refused a write, further writes fail at once,
// until a trial write succeeds.

import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";

export type WritableOptions = {
  readonly folder: string;
  /** For the log: the name of the environment, and the effects while it cannot be written. */
  readonly name: string;
  readonly meanwhile: string;
};

export type WritableParts = {
  /** Makes a trial write. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (isWritable: boolean) => void;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
};

const FIRST_TRIAL_MS = 500;
const LONGEST_TRIAL_MS = 10_000;
/** In milliseconds. After a failure so soon after a recovery, the pauses between trials stay as long as they were. */
const WELL_AFTER_MS = 60_000;

export class Writable {
  #why: string | undefined;
  #trialMs = FIRST_TRIAL_MS;
  #recoveredAtMs = Number.NEGATIVE_INFINITY;
  #cancelTrial: () => void = () => undefined;
  #isClosed = false;
  readonly #options: WritableOptions;
  readonly #parts: WritableParts;

  constructor(options: WritableOptions, parts: WritableParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** The reason why writes fail now, for operators; undefined while writes are possible. */
  get why(): string | undefined {
    return this.#why;
  }

  /** The result of `write`. @throws NotWritable, or an error of `write` that is not about the disk. */
  async run<Value>(write: () => Promise<Value>): Promise<Value> {
    if (this.#why !== undefined) throw new NotWritable(this.#why);
    try {
      return await write();
    } catch (error) {
      const failure = await writeFailure(error, this.#options.folder);
      if (!failure) throw error;
      this.#failed(failure.message);
      throw failure;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTrial();
  }

  #failed(why: string): void {
    // Several writes may fail together: the first one counts.
    if (this.#why !== undefined || this.#isClosed) return;
    const { clock, log, onChange } = this.#parts;
    const { name, meanwhile } = this.#options;
    this.#why = why;
    if (clock.now() - this.#recoveredAtMs > WELL_AFTER_MS) this.#trialMs = FIRST_TRIAL_MS;
    log.warn({ reason: why }, `${name} cannot be written: ${meanwhile}`);
    onChange(false);
    this.#tryLater();
  }

  #tryLater(): void {
    if (this.#isClosed) return;
    this.#cancelTrial = this.#parts.clock.after(this.#trialMs, () => void this.#try());
    this.#trialMs = Math.min(LONGEST_TRIAL_MS, 2 * this.#trialMs);
  }

  async #try(): Promise<void> {
    const { probe, clock, log, onChange } = this.#parts;
    const { folder, name } = this.#options;
    const isBack = !(await isFull(folder)) && (await succeeds(probe, folder));
    if (!isBack) return this.#tryLater();
    if (this.#isClosed) return;
    this.#why = undefined;
    this.#recoveredAtMs = clock.now();
    log.info(`${name} can be written again`);
    onChange(true);
  }
}

async function succeeds(probe: () => Promise<unknown>, folder: string): Promise<boolean> {
  try {
    await probe();
    return true;
  } catch (error) {
    await writeFailure(error, folder); // handles LMDB's promise of the reason
    return false;
  }
}

// The reasons of failed writes.

/** The error of a write that the disk refused. The message gives the reason, for operators. */
export class NotWritable extends Error {
  override readonly name = "NotWritable";
}

/** A disk with less free space than this, in bytes, counts as full: LMDB writes many pages together. */
export const FULL_BELOW_BYTES = 1_048_576;

/** The free space, in bytes; infinite for a file system that does not tell its size. */
export const roomOn = ({ bavail, bsize, blocks }: StatsFs): number =>
  blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;

/** Reasons by the error numbers of the operating system, and of LMDB. */
const REASONS: Readonly<Record<number, string>> = {
  5: "the disk reports an input/output error",
  28: "no space is left on the disk",
  30: "the disk is read-only",
  122: "the disk quota is used up",
  [-30_792]: "its file cannot grow",
};
const BY_NAME: Readonly<Record<string, number>> = { EIO: 5, ENOSPC: 28, EROFS: 30, EDQUOT: 122 };

/** @returns The failure of the disk; undefined when the error is not about the disk. */
export async function writeFailure(
  error: unknown,
  folder: string,
): Promise<NotWritable | undefined> {
  if (error instanceof NotWritable) return error;
  const cause = await commitErrorOf(error);
  const number = numberOf(cause);
  if (number === undefined) return undefined;
  // LMDB reports "input/output error" when a full disk took a part of a write.
  const why = (await isFull(folder)) ? REASONS[28] : REASONS[number];
  return new NotWritable(why ?? `writing fails (${(cause as Error).message})`, { cause });
}

async function isFull(folder: string): Promise<boolean> {
  try {
    return roomOn(await statfs(folder)) < FULL_BELOW_BYTES;
  } catch {
    return false;
  }
}

/** LMDB gives the reason of a failed commit in another promise. */
async function commitErrorOf(error: unknown): Promise<unknown> {
  const reason: unknown = error instanceof Error ? Reflect.get(error, "commitError") : undefined;
  return reason instanceof Promise ? reason.catch((cause: unknown) => cause) : error;
}

function numberOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || error.name !== "Error") return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "number" ? code : BY_NAME[String(code)];
}
