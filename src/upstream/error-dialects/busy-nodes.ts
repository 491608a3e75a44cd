// An upstream that is busy: how it says so, and how long it wants to be left alone.
import type { Dialect } from "./dialect.ts";

const means = { kind: "busy" } as const;

/** What is used up comes back at the end of a day or month: nothing is gained by asking every second. */
const QUOTA_PAUSE_MS = 300_000;

/** Providers tell this by Retry-After or not at all; more than a glance, less than a quota. */
const CONCURRENCY_PAUSE_MS = 1_000;

export const BUSY_NODES: readonly Dialect[] = [
  {
    of: ["Alchemy", "Tenderly", "QuickNode", "GetBlock", "Moralis", "dRPC"],
    words:
      /\b(monthly|daily)\b.{0,60}\b(limit|quota|capacity|allowance)\b.{0,40}\b(exceeded|reached|exhausted)|\breached (the|your) (monthly |daily )?(quota|free tier)|\bexceeded (the|your) (monthly |daily )?quota/i,
    means,
    pauseMs: QUOTA_PAUSE_MS,
    samples: [
      [
        429,
        "Monthly capacity limit exceeded. Visit https://dashboard.alchemy.com/settings/billing to upgrade your scaling policy for continued service.",
      ],
      [429, "Monthly capacity limit exceeded", 429],
      [37, "User monthly free request limit has been reached"],
      [-32007, "daily request limit reached - upgrade your account at quicknode.com"],
      [-32005, "You've reached the quota limit for your current plan."],
    ],
  },
  {
    of: ["Infura", "InfStones", "BlockVision", "Blast"],
    words:
      /^daily request count exceeded|^exceed(ed)? (daily )?request cost limit|^the call limit has been reached|^(api )?capacity exceeded/i,
    means,
    pauseMs: QUOTA_PAUSE_MS,
    samples: [
      [-32005, "daily request count exceeded, request rate limited"],
      [-2041, "Exceed daily request cost limit of ethereum"],
      [-32607, "The call limit has been reached, please upgrade your subscript"],
      [-32098, "Capacity exceeded", 403],
    ],
  },
  {
    of: ["1RPC", "proxies"],
    words:
      /\breached the usage limit for your current plan|\bcompute unit quota exceeded|\binsufficient credits\b/i,
    means,
    pauseMs: QUOTA_PAUSE_MS,
    samples: [
      [
        -32001,
        "You've reached the usage limit for your current plan. To continue with higher limits and uninterrupted access, please upgrade here: https://www.1rpc.io/#pricing",
      ],
      [-32005, "compute unit quota exceeded"],
    ],
  },
  {
    // Unpaid.
    of: ["providers"],
    status: 402,
    means,
    pauseMs: QUOTA_PAUSE_MS,
    samples: [[undefined, '{"message":"account suspended"}', 402]],
  },
  {
    of: ["Alchemy", "Unifra", "QuickNode", "OnFinality", "Wetez", "Cloudflare"],
    code: 429,
    means,
    samples: [
      [429, "Your app has exceeded its compute units per second capacity."],
      [429, "The requests per second (RPS) of your requests are higher than your plan allows."],
    ],
  },
  {
    of: ["Blast", "conflux-rust"],
    code: [-32097, -32072],
    means,
    samples: [
      [-32097, "Rate limit reached"],
      [-32072, "Request rejected."],
    ],
  },
  {
    of: ["QuickNode"],
    code: [-32007, -32009, -32012],
    words: /\brequests? limit(ed)?\b|\blimited to [\d,]+\/sec/i,
    means,
    samples: [
      [
        -32007,
        "endpoint hit 30/second request limit reached - reduce calls per second or upgrade your account at quicknode.com",
      ],
      [-32009, "trace requests limited to 10/sec"],
      [-32012, "credits limited to 6000/sec"],
    ],
  },
  {
    of: ["jsonrpsee", "nethermind", "proxyd"],
    code: [-32009, -32005, -32012],
    words: /^server is busy|\btoo many queued requests|^backend is over capacity/i,
    means,
    pauseMs: CONCURRENCY_PAUSE_MS,
    samples: [
      [-32009, "Server is busy, try again later"],
      [
        -32005,
        "Unable to start new queued requests for IEthRpcModule. Too many queued requests. Queued calls 500.",
      ],
      [-32012, "backend is over capacity"],
    ],
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
    means,
    samples: [
      [-32005, "project ID request rate exceeded"],
      [-32005, "You've exceeded the RPS limit available on the current plan."],
      [-32090, "Too many requests, reason: call rate limit exhausted, retry in 10s"],
      [-32005, "Too many requests"],
      [15, "Too many request, try again later"],
      [-32016, "over rate limit"],
      [-32017, "sender is over rate limit"],
      [
        -32029,
        "Too Many Requests, Please apply an OnFinality API key or contact us to receive a higher rate limit",
      ],
      [-32000, "requests limited to 100/sec"],
      [-32605, "Rate Limit"],
      [-2043, "Exceed rate limit"],
      [-32005, "limit exceeded"],
      [undefined, '{"message":"API rate limit exceeded"}'],
      [undefined, "error code: 1015, you are being rate limited", 503],
    ],
  },
];

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
