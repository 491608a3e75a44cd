// How this process ends: by itself, after errors that nobody expected, or by becoming the same program anew.
//
// It ends whatever its native threads do. `process.exit` joins them: a store's write in the middle
// waits for the main thread, which waits for it; the look-up of a host name that nobody answers takes its time.

import { existsSync } from "node:fs";
import type { Logger } from "pino";
import type { UnexpectedKind } from "../observe/metrics.ts";

/** The fastest there is: while it begins, a signal would end it before it says its code. */
const SHELL = "/bin/sh";

/**
 * Ends at once with the exit code: another program takes the place of this one, and says it. What was written
 * to a store and not acknowledged is lost; what was, is not. No listener for `exit` is called: some wait.
 */
export function endProcess(code: number): never {
  const program = existsSync(SHELL)
    ? [SHELL, "-c", `exit ${code}`]
    : [process.execPath, "-e", `process.exit(${code})`];
  // Without our environment: it tells Node.js of a channel to a supervisor, and of modules to load.
  process.execve?.(program[0] as string, program, {});
  process.kill(process.pid, "SIGKILL"); // where no program can take another's place
  throw new Error("unreachable: the process was killed");
}

/** With their stacks: those that come after these are counted only. */
const LOGGED = 10;

/**
 * Errors that nobody expected: a promise that was rejected with nobody to hear of it, an exception out of a callback. Node.js
 * would end the process in the middle of everything.
 *
 * @param parts.onUnexpected Counts it, and sees to it that another process takes the place of this one.
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

/** So soon after its start, in milliseconds, a process that took another's place does not help by being replaced. */
const SOON_MS = { rejection: 600_000, exception: 10_000 } as const;

/**
 * What becomes of a process that nobody starts again. What is behind a rejected promise is one piece of work;
 * after an exception anything may be half done.
 */
export function whatNext(
  kind: UnexpectedKind,
  { aliveMs, wasReplaced }: { readonly aliveMs: number; readonly wasReplaced: boolean },
): "go on" | "replace" | "end" {
  if (!wasReplaced || aliveMs >= SOON_MS[kind]) return "replace";
  return kind === "rejection" ? "go on" : "end";
}

/** Tells the program that it takes a place over, and how many errors nobody expected before. */
const REPLACED = "HEADGATE_REPLACED";

export type Replaced = {
  readonly isReplaced: boolean;
  readonly rejections: number;
  readonly exceptions: number;
};

/** What the process that was here before has left. */
export function replacedIn(environment: Readonly<Record<string, string | undefined>>): Replaced {
  const left = environment[REPLACED];
  const [rejections = 0, exceptions = 0] = (left ?? "").split(" ").map((word) => Number(word) || 0);
  return { isReplaced: left !== undefined, rejections, exceptions };
}

/**
 * The same program in the place of this process, with the same number: whoever started it notices nothing but a pause. Where the system has no such thing it ends, for its manager to start another.
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
