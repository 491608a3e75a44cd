// The log: JSON lines on stdout, or readable ones on a terminal.

import { type Logger, pino } from "pino";

/** Loaded only for a terminal: most logs are read by programs. */
const pretty = process.stdout.isTTY ? (await import("pino-pretty")).default : undefined;

/** @param options.process The name of the process that writes the log, where there are several. */
export function createLog(options: { level: string; process?: string | undefined }): Logger {
  const { level, process: name } = options;
  const base = name === undefined ? null : { process: name };
  return pretty
    ? pino(
        { level, ...(base && { base }) },
        pretty({ ignore: "pid,hostname", singleLine: true, sync: true }),
      )
    : // each line is written at once: the last lines before a crash matter most
      pino({ level, base }, pino.destination({ sync: true }));
}

/** Sets the level of a log and of all logs derived from it: pino's children keep the level that they were made with. */
export class LogLevels {
  readonly #logs: Pick<Logger, "level">[];

  /** @param log Must have no children yet. */
  constructor(log: Logger) {
    this.#logs = [log];
    log.onChild = (child) => void this.#logs.push(child);
  }

  set(level: string): void {
    for (const log of this.#logs) log.level = level;
  }
}
