// The log: JSON lines on stdout, or readable ones on a terminal.

import { type Logger, pino } from "pino";

/** Loaded where it is wanted: most logs are for machines. */
const pretty = process.stdout.isTTY ? (await import("pino-pretty")).default : undefined;

/**
 * For people at a terminal; else one JSON object a line.
 *
 * @param options.process Which of the gateway's processes writes it, where there are several.
 */
export function createLog(options: { level: string; process?: string | undefined }): Logger {
  const { level, process: name } = options;
  const base = name === undefined ? null : { process: name };
  return pretty
    ? pino(
        { level, ...(base && { base }) },
        pretty({ ignore: "pid,hostname", singleLine: true, sync: true }),
      )
    : // Each line at once: the last ones before an end, whichever way, are those that are wanted.
      pino({ level, base }, pino.destination({ sync: true }));
}

/** The level of the log and of all logs that were derived from it: pino's children keep the level that they began with. */
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
