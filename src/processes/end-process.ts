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

/** In milliseconds. If a process that replaced another one fails this soon, another replacement does not help. */
const SOON_MS = { rejection: 600_000, exception: 10_000 } as const;

/**
 * The decision after an unexpected error in a process without a supervisor. A rejected promise concerns one piece of
 * work; after an exception any work may be half done.
 */
export function whatNext(
  kind: UnexpectedKind,
  { aliveMs, wasReplaced }: { readonly aliveMs: number; readonly wasReplaced: boolean },
): "go on" | "replace" | "end" {
  if (!wasReplaced || aliveMs >= SOON_MS[kind]) return "replace";
  return kind === "rejection" ? "go on" : "end";
}

/** The variable that tells the program that it replaces a process, and how many unexpected errors that process had. */
const REPLACED = "HEADGATE_REPLACED";

export type Replaced = {
  readonly isReplaced: boolean;
  readonly rejections: number;
  readonly exceptions: number;
};

/** The replacement and the error counts that the environment tells. */
export function replacedIn(environment: Readonly<Record<string, string | undefined>>): Replaced {
  const left = environment[REPLACED];
  const [rejections = 0, exceptions = 0] = (left ?? "").split(" ").map((word) => Number(word) || 0);
  return { isReplaced: left !== undefined, rejections, exceptions };
}

/**
 * Starts the same program in the place of this process, under the same process id: the process manager notices only a
 * pause. Where the system cannot do that, the process ends, and the manager starts another process.
 */
export function replaceProcess(
  environment: Readonly<Record<string, string | undefined>>,
  { rejections, exceptions }: Omit<Replaced, "isReplaced">,
): never {
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const variables = { ...environment, [REPLACED]: `${rejections} ${exceptions}` } as Record<
    string,
    string
  >;
  process.execve?.(process.execPath, program, variables);
  return endProcess(1);
}
