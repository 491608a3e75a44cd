// The log: JSON lines on stdout, or readable ones on a terminal.
import { type Logger, pino } from "pino";
import pretty from "pino-pretty";

/** @param options.readable For people at a terminal; else one JSON object a line. */
export const createLog = (options: { level: string; readable: boolean }): Logger =>
  options.readable
    ? pino(
        { level: options.level },
        pretty({ ignore: "pid,hostname", singleLine: true, sync: true }),
      )
    : pino({ level: options.level, base: null });
