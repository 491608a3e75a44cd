// The log: JSON lines on stdout, or readable ones on a terminal.

import { createRequire } from "node:module";
import { type Logger, pino } from "pino";
import type pinoPretty from "pino-pretty";

/** Loaded where it is wanted: most logs are for machines. */
const prettily = (options: Parameters<typeof pinoPretty>[0]): ReturnType<typeof pinoPretty> =>
  createRequire(import.meta.url)("pino-pretty")(options);

/**
 * @param options.readable For people at a terminal; else one JSON object a line.
 * @param options.process Which of the gateway's processes writes it, where there are several.
 */
export function createLog(options: {
  level: string;
  readable: boolean;
  process?: string | undefined;
}): Logger {
  const { level, readable, process } = options;
  const base = process === undefined ? null : { process };
  return readable
    ? pino(
        { level, ...(base && { base }) },
        prettily({ ignore: "pid,hostname", singleLine: true, sync: true }),
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
