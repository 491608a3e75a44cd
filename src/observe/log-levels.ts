// The level of the log and of all logs that were derived from it: pino's children keep the level that
// they were born with.
import type { Logger } from "pino";

export class LogLevels {
  readonly #logs: Pick<Logger, "level">[];

  /** @param log Has no children yet. */
  constructor(log: Logger) {
    this.#logs = [log];
    log.onChild = (child) => void this.#logs.push(child);
  }

  set(level: string): void {
    for (const log of this.#logs) log.level = level;
  }
}
