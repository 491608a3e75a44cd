// Ends this process, listens for its unexpected errors, and restarts its program in its place. `process.exit` would wait
// for native threads: for a write to a store, which itself waits for the main thread, or for the lookup of a host name
// that no server resolves.

import { existsSync } from "node:fs";
import type { Logger } from "pino";
import type { UnexpectedKind } from "../observe/metrics.ts";

/** The program that starts fastest: a signal during its start would end the program before it gives the exit code. */
const SHELL = "/bin/sh";

/**
 * Ends at once with the exit code: another program takes the place of this one and gives the code. Only writes to a
 * store that were not acknowledged are lost. Listeners for `exit` are not called, since some of them wait.
 */
export function endProcess(code: number): never {
  const program = existsSync(SHELL)
    ? [SHELL, "-c", `exit ${code}`]
    : [process.execPath, "-e", `process.exit(${code})`];
  // The empty environment drops ours, which names the channel to a supervisor, and modules to load.
  process.execve?.(program[0] as string, program, {});
  process.kill(process.pid, "SIGKILL"); // where the system has no execve
  throw new Error("unreachable: the process was killed");
}

/**
 * The stacks of an error and of its causes, for an error before there is a log. Members of errors are left out, and URLs:
 * Node.js puts the text that is no URL into one, and Redis clients the password.
 */
export function crashText(error: unknown): string {
  const stacks: string[] = [];
  for (let each = error; each !== undefined && stacks.length < MOST_CAUSES; ) {
    stacks.push(each instanceof Error ? (each.stack ?? each.message) : String(each));
    each = each instanceof Error ? each.cause : undefined;
  }
  return stacks.join("\ncaused by: ").replace(URL_WITH_SECRETS, "$1://***");
}

const MOST_CAUSES = 8;
/** Any URL but that of a file or module, as the lines of a stack have it. */
const URL_WITH_SECRETS = /\b(?!file:)([a-z][a-z+.-]*):\/\/[^\s'")]+/gi;

/** The number of errors that are logged with their stacks; further errors are only counted. */
const LOGGED = 10;

/**
 * Listens for unexpected errors: a rejected promise that no code handles, or an exception in a callback. Without a
 * listener Node.js would end the process in the middle of its work.
 * @param parts.onUnexpected Counts the error, and has the process replaced.
 */
export function listenForUnexpectedErrors(parts: {
  readonly log: Pick<Logger, "error">;
  readonly onUnexpected: (kind: UnexpectedKind) => void;
}): void {
  let times = 0;
  const hear = (kind: UnexpectedKind, error: unknown): void => {
    times += 1;
    if (times <= LOGGED) parts.log.error({ err: error, kind }, "an unexpected error");
    parts.onUnexpected(kind);
  };
  process.on("unhandledRejection", (reason) => hear("rejection", reason));
  process.on("uncaughtException", (error) => hear("exception", error));
}

/** In milliseconds: how long a rejected promise, in a process that replaced another one, changes nothing. */
const REJECTIONS_IN_A_ROW_MS = 600_000;
/** The least life, in milliseconds, of a process that replaced another one: twice as long for each in a row, at most … */
const FIRST_LIFE_MS = 10_000;
const LONGEST_LIFE_MS = 300_000;
/** A process that lived for so long begins a new row. */
const STEADY_AFTER_MS = 600_000;

/** A process's life so far. @param row How many processes in a row were replaced before; 0: this one replaced none. */
export type Life = { readonly aliveMs: number; readonly row: number };

/**
 * The time until a process without a supervisor is replaced after an unexpected error, in milliseconds; undefined: it is
 * not. A rejected promise concerns one piece of work; after an exception any work may be half done. A stranger who can
 * cause exceptions must not keep the process away: it goes on meanwhile, and is replaced later and later, but it never
 * ends for good.
 */
export function replacedAfterMs(kind: UnexpectedKind, { aliveMs, row }: Life): number | undefined {
  if (row === 0) return 0;
  if (kind === "rejection") return aliveMs >= REJECTIONS_IN_A_ROW_MS ? 0 : undefined;
  const leastLifeMs = Math.min(FIRST_LIFE_MS * 2 ** (row - 1), LONGEST_LIFE_MS);
  return Math.max(0, leastLifeMs - aliveMs);
}

/** The row of the process that takes the place of one with this life. */
export const nextRow = ({ aliveMs, row }: Life): number =>
  aliveMs >= STEADY_AFTER_MS ? 1 : row + 1;

/**
 * The variable that tells the program that it replaces a process, how many unexpected errors that process had, and how
 * many processes in a row were replaced.
 */
const REPLACED = "HEADGATE_REPLACED";

export type Replaced = {
  readonly rejections: number;
  readonly exceptions: number;
  /** See `Life`. */
  readonly row: number;
};

/** The replacement and the counts that the environment tells. */
export function replacedIn(environment: Readonly<Record<string, string | undefined>>): Replaced {
  const left = environment[REPLACED];
  const words = (left ?? "").split(" ").map((word) => Number(word) || 0);
  const [rejections = 0, exceptions = 0, row = 1] = words;
  return { rejections, exceptions, row: left === undefined ? 0 : Math.max(1, row) };
}

/**
 * Starts the same program in the place of this process, under the same process id: the process manager notices only a
 * pause. Where the system cannot do that, the process ends, and the manager starts another process.
 */
export function replaceProcess(
  environment: Readonly<Record<string, string | undefined>>,
  { rejections, exceptions, row }: Replaced,
): never {
  const [, main = "", ...words] = process.argv;
  const hasUrls = words.some((word) => word.includes("://"));
  const program = [process.execPath, ...process.execArgv, main, ...(hasUrls ? [] : words)];
  const variables = {
    ...environment,
    // bin/headgate.mjs reads it: URLs may hold keys, and every user of the machine can read command lines.
    ...(hasUrls ? { HEADGATE_ARGUMENTS: JSON.stringify(words) } : {}),
    [REPLACED]: `${rejections} ${exceptions} ${row}`,
  } as Record<string, string>;
  process.execve?.(process.execPath, program, variables);
  return endProcess(1);
}
