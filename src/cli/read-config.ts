// Reads the configuration file for a command; a bad one ends the process with exit code 2.
import { readFileSync } from "node:fs";
import type { Environment } from "../config/parse-config.ts";
import { type ParsedConfig, parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";

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
