// An upstream that is busy: how it says so, and how long it wants to be left alone.
import { allMean } from "./dialect.ts";

/** What is used up comes back at the end of a day or month: nothing is gained by asking every second. */
const QUOTA_PAUSE_MS = 300_000;

/** Providers tell this by Retry-After or not at all; more than a glance, less than a quota. */
const CONCURRENCY_PAUSE_MS = 1_000;

export const BUSY_NODES = allMean({ kind: "busy" }, [
  {
    of: ["Alchemy", "Tenderly", "QuickNode", "GetBlock", "Moralis", "dRPC"],
    words:
      /\b(monthly|daily)\b.{0,60}\b(limit|quota|capacity|allowance)\b.{0,40}\b(exceeded|reached|exhausted)|\breached (the|your) (monthly |daily )?(quota|free tier)|\bexceeded (the|your) (monthly |daily )?quota/i,
    pauseMs: QUOTA_PAUSE_MS,
  },
  {
    of: ["Infura", "InfStones", "BlockVision", "Blast"],
    words:
      /^daily request count exceeded|^exceed(ed)? (daily )?request cost limit|^the call limit has been reached|^(api )?capacity exceeded/i,
    pauseMs: QUOTA_PAUSE_MS,
  },
  {
    of: ["1RPC", "proxies"],
    words:
      /\breached the usage limit for your current plan|\bcompute unit quota exceeded|\binsufficient credits\b/i,
    pauseMs: QUOTA_PAUSE_MS,
  },
  {
    // Unpaid.
    of: ["providers"],
    status: 402,
    pauseMs: QUOTA_PAUSE_MS,
  },
  {
    of: ["Alchemy", "Unifra", "QuickNode", "OnFinality", "Wetez", "Cloudflare"],
    code: 429,
  },
  {
    of: ["Blast", "conflux-rust"],
    code: [-32097, -32072],
  },
  {
    of: ["QuickNode"],
    code: [-32007, -32009, -32012],
    words: /\brequests? limit(ed)?\b|\blimited to [\d,]+\/sec/i,
  },
  {
    of: ["jsonrpsee", "nethermind", "proxyd"],
    code: [-32009, -32005, -32012],
    words: /^server is busy|\btoo many queued requests|^backend is over capacity/i,
    pauseMs: CONCURRENCY_PAUSE_MS,
  },
  {
    of: [
      "Infura",
      "Chainstack",
      "Ankr",
      "nethermind",
      "dRPC",
      "proxyd",
      "OnFinality",
      "conflux-rust",
      "Kong",
    ],
    words:
      /\brate[ -]?limit|\btoo many requests?\b|\brate exceeded|\bexceeded (the|its|your) .{0,60}\b(rps|capacity|throughput|rate)\b|\brequests? (per second|limit) (exceeded|reached)|^request limit\b|\brequests limited to\b|\bthrottled\b|\bunder too much load\b|^(request |api )?limit exceeded\.?$/i,
  },
]);

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
  for (const seconds of [backoff, retryAfter]) if (typeof seconds === "number") return seconds;
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
