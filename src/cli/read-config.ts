// What a command begins with: the configuration from its file, a bad one of which ends the process with exit code 2; and
// the state that it names.
import { existsSync, readFileSync } from "node:fs";
import { type Environment, type ParsedConfig, parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { systemClock } from "../lib/clock.ts";
import { DamagedState } from "../state/lmdb-state.ts";
import { lmdbPath, openState } from "../state/open-state.ts";
import type { State } from "../state/state.ts";

/** A reason to end that a person can act on: shown as it is, without a stack. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** 1: the work failed. 2: the command line or the configuration is wrong. */
  readonly exitCode: 1 | 2;

  constructor(message: string, options: { exitCode: 1 | 2; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.exitCode = options.exitCode;
  }
}

/** As `readConfig`; a file that cannot be read is a mistake too. For a gateway that runs already. */
export function readAgain(path: string, environment: Environment): ParsedConfig {
  try {
    return parseConfig(readText(path), environment);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { kind: "mistakes", mistakes: [error.message] };
  }
}

/** @throws CommandFailure with one line per mistake. */
export function readConfig(path: string, environment: Environment): Config {
  const parsed = parseConfig(readText(path), environment);
  if (parsed.kind === "mistakes")
    throw new CommandFailure(parsed.mistakes.join("\n"), { exitCode: 2 });
  return parsed.config;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "there is no such file" : `cannot be read (${code})`;
    throw new CommandFailure(`${path}: ${why}`, { exitCode: 2, cause });
  }
}

/** Without a word in the log. @throws CommandFailure when it is damaged. */
export async function stateOf(config: Config): Promise<State> {
  const log = { info: () => undefined, warn: () => undefined };
  return openState(config, { clock: systemClock, log }).catch((cause: unknown) => {
    if (!(cause instanceof DamagedState)) throw cause;
    throw new CommandFailure(cause.message, { exitCode: 1, cause });
  });
}

/** Of a gateway that ran here before, or runs now; undefined where none did. @throws As `stateOf`. */
export async function keptStateOf(config: Config): Promise<State | undefined> {
  return config.state || existsSync(lmdbPath(config.data)) ? stateOf(config) : undefined;
}

/** Reads a command line. @throws CommandFailure with the help. */
export function orWrongUsage<Read>(read: () => Read, help: string): Read {
  try {
    return read();
  } catch (cause) {
    throw new CommandFailure(`${(cause as Error).message}\n\n${help}`, { exitCode: 2, cause });
  }
}
