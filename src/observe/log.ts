// The log: JSON lines on stdout, or readable lines on a terminal.

import { type Logger, pino } from "pino";

/** Loaded only on a terminal: programs read most logs. */
const pretty = process.stdout.isTTY ? (await import("pino-pretty")).default : undefined;

/** @param options.process The name of the process that writes the log, if there are several. */
export function createLog(options: { level: string; process?: string | undefined }): Logger {
  const { level, process: name } = options;
  const base = name === undefined ? null : { process: name };
  return pretty
    ? pino(
        { level, ...(base && { base }) },
        pretty({ ignore: "pid,hostname", singleLine: true, sync: true }),
      )
    : // synchronous: the last lines before a crash matter most
      pino({ level, base }, pino.destination({ sync: true }));
}

/** Sets the level of a log and of all logs derived from it: by itself, a pino child keeps its level. */
export class LogLevels {
  readonly #logs: Pick<Logger, "level">[];

  /** @param log A log without children. */
  constructor(log: Logger) {
    this.#logs = [log];
    log.onChild = (child) => void this.#logs.push(child);
  }

  set(level: string): void {
    for (const log of this.#logs) log.level = level;
  }
}
