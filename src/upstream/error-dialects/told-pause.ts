// How long a busy node wants to be left alone, where it says so inside its answer.

/** A longer pause than this is not believed. */
const LONGEST_PAUSE_MS = 3_600_000;

/** In milliseconds, undefined when it says nothing. `data` is of its error object. */
export function toldPauseMs(text: string, data: unknown): number | undefined {
  const seconds = secondsInData(data) ?? secondsInText(text);
  if (seconds === undefined || !(seconds > 0)) return undefined;
  return Math.min(Math.ceil(seconds * 1_000), LONGEST_PAUSE_MS);
}

/** Infura: `data.rate.backoff_seconds`; Headgate: `data.retryAfter`. */
function secondsInData(data: unknown): number | undefined {
  const { rate, retryAfter } = (data ?? {}) as { rate?: unknown; retryAfter?: unknown };
  const { backoff_seconds: backoff } = (rate ?? {}) as { backoff_seconds?: unknown };
  for (const told of [backoff, retryAfter]) if (typeof told === "number") return told;
  return undefined;
}

/** Ankr: "retry in 10m0s"; others "1.5s" or "500ms", as durations are written in Go. */
function secondsInText(text: string): number | undefined {
  const [, minutes, seconds, milliseconds] =
    /\bretry in (?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,6})?)s)?(?:(\d{1,9}(?:\.\d{1,6})?)ms)?/i.exec(
      text,
    ) ?? [];
  if (minutes === undefined && seconds === undefined && milliseconds === undefined)
    return undefined;
  return Number(minutes ?? 0) * 60 + Number(seconds ?? 0) + Number(milliseconds ?? 0) / 1000;
}
