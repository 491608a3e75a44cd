// The log: JSON lines on stdout, or readable lines on a terminal.

import { type Logger, pino } from "pino";
import type { Config } from "../config/schema.ts";
import { secretsInLog } from "../config/secrets.ts";
import { Secrets } from "../lib/secrets.ts";

/** Loaded only on a terminal: programs read most logs. */
const pretty = process.stdout.isTTY ? (await import("pino-pretty")).default : undefined;

/** The number of configurations whose secrets are hidden: words of a node may come late, after a reload. */
const HIDDEN_CONFIGS = 3;

/** Hides the secrets of configurations in the lines of a log: the last defence, since no line should have any. */
export class LogSecrets {
  readonly #ofConfigs: string[][] = [];
  #secrets = new Secrets([]);

  /** Hides the secrets of a configuration from now on. */
  hide(config: Parameters<typeof secretsInLog>[0]): void {
    this.#ofConfigs.unshift(secretsInLog(config));
    this.#ofConfigs.length = Math.min(this.#ofConfigs.length, HIDDEN_CONFIGS);
    this.#secrets = new Secrets(this.#ofConfigs.flat());
  }

  /** @param line One JSON object and a line break. */
  clean(line: string): string {
    const clean = this.#secrets.redact(line);
    if (clean === line) return line;
    const json = this.#secrets.redactJson(line, NO_NAMES);
    if (json === "unchanged") return line; // a number is no secret
    return json === "unreadable" ? clean : `${json}\n`;
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

export type LogOptions = Config["log"] & {
  /** The name of the process that writes the log, if there are several. */
  readonly process?: string | undefined;
  readonly secrets: LogSecrets;
};

export function createLog({ level, process: name, secrets }: LogOptions): Logger {
  const base = name === undefined ? null : { process: name };
  const hooks = { streamWrite: (line: string) => secrets.clean(line) };
  return pretty
    ? pino(
        { level, hooks, ...(base && { base }) },
        pretty({ ignore: "pid,hostname", singleLine: true, sync: true }),
      )
    : // synchronous: the last lines before a crash matter most
      pino({ level, hooks, base }, pino.destination({ sync: true }));
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
