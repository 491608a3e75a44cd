// Errors that nobody expected: a promise that was rejected with nobody to hear of it, an exception out of a
// callback. Node.js would end the process in the middle of everything.
import type { Logger } from "pino";
import type { UnexpectedKind } from "../observe/metrics.ts";

/** With their stacks: those that come after these are counted only. */
const LOGGED = 10;

/** @param parts.onUnexpected Counts it, and sees to it that another process takes the place of this one. */
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
