// Whether a folder's environment can be written now. After a write that the disk refused, further writes are refused at
// once, until a trial shows that there is room again.

import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";

export type WritableOptions = {
  readonly folder: string;
  /** The name in the log, and what happens while it cannot be written. */
  readonly name: string;
  readonly meanwhile: string;
};

export type WritableParts = {
  /** Writes something, as a trial. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (isWritable: boolean) => void;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
};

const FIRST_TRIAL_MS = 500;
const LONGEST_TRIAL_MS = 10_000;
/**
 * When a failure follows the last one within this time, the pauses between trials stay as long as they were, in
 * milliseconds.
 */
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

  /** Why it cannot be written now, in words for a person. */
  get why(): string | undefined {
    return this.#why;
  }

  /** @throws NotWritable, or what `write` throws for other reasons than the disk. */
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
    // Several writes may have failed together.
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
    await writeFailure(error, folder); // otherwise LMDB's promise of the reason would be left unhandled
    return false;
  }
}

// Why a write failed: whether the disk is the reason, and how that is said.

/** The disk refused a write. The message says why, in words for a person. */
export class NotWritable extends Error {
  override readonly name = "NotWritable";
}

/** With less room than this, in bytes, a disk counts as full: writes come in pages, and many together. */
export const FULL_BELOW_BYTES = 1_048_576;

/** In bytes. Some file systems do not tell their size: they count as endless. */
export const roomOn = ({ bavail, bsize, blocks }: StatsFs): number =>
  blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;

/** By the error numbers of the operating system, and of LMDB. */
const REASONS: Readonly<Record<number, string>> = {
  5: "the disk reports an input/output error",
  28: "no space is left on the disk",
  30: "the disk is read-only",
  122: "the disk quota is used up",
  [-30_792]: "its file cannot grow",
};
const BY_NAME: Readonly<Record<string, number>> = { EIO: 5, ENOSPC: 28, EROFS: 30, EDQUOT: 122 };

/** @returns undefined when the error is not about the disk. */
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
