// How this process ends: by itself, after unexpected errors, or by becoming the same program anew. It ends whatever its
// native threads do. `process.exit` would wait for them: a write to a store waits for the main thread, which waits for
// it; and a host name that no server resolves takes its time.

import { existsSync } from "node:fs";
import type { Logger } from "pino";
import type { UnexpectedKind } from "../observe/metrics.ts";

/** The fastest program there is: a signal that comes while it begins would end it before it gives the exit code. */
const SHELL = "/bin/sh";

/**
 * Ends at once with the exit code: another program takes the place of this one and gives the code. Writes to a store
 * that were not acknowledged are lost; acknowledged ones are not. Listeners for `exit` are not called, since some wait.
 */
export function endProcess(code: number): never {
  const program = existsSync(SHELL)
    ? [SHELL, "-c", `exit ${code}`]
    : [process.execPath, "-e", `process.exit(${code})`];
  // Without our environment, which names the channel to a supervisor, and modules to load.
  process.execve?.(program[0] as string, program, {});
  process.kill(process.pid, "SIGKILL"); // where no program can take the place of another
  throw new Error("unreachable: the process was killed");
}

/** How many errors are logged with their stacks; further ones are only counted. */
const LOGGED = 10;

/**
 * Listens for unexpected errors: a rejected promise that nobody handles, or an exception in a callback. Node.js would
 * end the process in the middle of everything.
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

/**
 * When a process that replaced another one fails within this time after its start, replacing it does not help, in
 * milliseconds.
 */
const SOON_MS = { rejection: 600_000, exception: 10_000 } as const;

/**
 * What becomes of a process that nobody starts again. A rejected promise concerns one piece of work; after an exception
 * anything may be half done.
 */
export function whatNext(
  kind: UnexpectedKind,
  { aliveMs, wasReplaced }: { readonly aliveMs: number; readonly wasReplaced: boolean },
): "go on" | "replace" | "end" {
  if (!wasReplaced || aliveMs >= SOON_MS[kind]) return "replace";
  return kind === "rejection" ? "go on" : "end";
}

/** Tells the program that it replaces a process, and how many unexpected errors that one had. */
const REPLACED = "HEADGATE_REPLACED";

export type Replaced = {
  readonly isReplaced: boolean;
  readonly rejections: number;
  readonly exceptions: number;
};

/** What the replaced process has left. */
export function replacedIn(environment: Readonly<Record<string, string | undefined>>): Replaced {
  const left = environment[REPLACED];
  const [rejections = 0, exceptions = 0] = (left ?? "").split(" ").map((word) => Number(word) || 0);
  return { isReplaced: left !== undefined, rejections, exceptions };
}

/**
 * Starts the same program in the place of this process, under the same process number: whoever started it notices only
 * a pause. Where the system cannot do that, the process ends, and its manager starts another.
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
