// Whether a folder's environment can be written now. After a write that the disk did not take, further
// ones are refused at once, until a trial shows that there is room again.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { isFull, NotWritable, writeFailure } from "./write-failure.ts";

export type WritableOptions = {
  readonly folder: string;
  /** What the log calls it, and what happens meanwhile. */
  readonly name: string;
  readonly meanwhile: string;
};

export type WritableParts = {
  /** Writes something. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (isWritable: boolean) => void;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
};

const FIRST_TRIAL_MS = 500;
const LONGEST_TRIAL_MS = 10_000;
/** Who fails again so soon was not well: its trials are not made more often again. */
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
    // Several may have been under way.
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
    await writeFailure(error, folder); // its reason, told apart, is heard
    return false;
  }
}
