// Wordings of a busy upstream, and how long it asks for a pause.
import { withMeaning } from "./dialect.ts";

/** An exhausted quota returns at the end of a day or month: asking every second is useless. */
const QUOTA_PAUSE_MS = 300_000;

/** Providers give this pause in Retry-After or not at all; the pause must be short, as no quota is exhausted. */
const CONCURRENCY_PAUSE_MS = 1_000;

export const BUSY_NODES = withMeaning({ kind: "busy" }, [
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
    // Payment required.
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

/** A longer pause is shortened to this. */
const LONGEST_PAUSE_MS = 3_600_000;

/** The pause in a reply, in milliseconds; undefined when the reply names none. @param data The `data` of the error. */
export function statedPauseMs(text: string, data: unknown): number | undefined {
  const seconds = secondsInData(data) ?? secondsInText(text);
  if (seconds === undefined || !(seconds > 0)) return undefined;
  return Math.min(Math.ceil(seconds * 1_000), LONGEST_PAUSE_MS);
}

/** Reads Infura's `data.rate.backoff_seconds` or Headgate's `data.retryAfter`. */
function secondsInData(data: unknown): number | undefined {
  const { rate, retryAfter } = (data ?? {}) as { rate?: unknown; retryAfter?: unknown };
  const { backoff_seconds: backoff } = (rate ?? {}) as { backoff_seconds?: unknown };
  for (const seconds of [backoff, retryAfter]) if (typeof seconds === "number") return seconds;
  return undefined;
}

/** Reads Go durations: "retry in 10m0s" (Ankr), "1.5s" or "500ms" (others). @returns Seconds. */
function secondsInText(text: string): number | undefined {
  const [, minutes, seconds, milliseconds] =
    /\bretry in (?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,6})?)s)?(?:(\d{1,9}(?:\.\d{1,6})?)ms)?/i.exec(
      text,
    ) ?? [];
  if (minutes === undefined && seconds === undefined && milliseconds === undefined)
    return undefined;
  return Number(minutes ?? 0) * 60 + Number(seconds ?? 0) + Number(milliseconds ?? 0) / 1000;
}
