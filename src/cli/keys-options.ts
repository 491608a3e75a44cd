// The options of `headgate keys`: this table makes the parser, the help and the request for a key.
import type { ParseArgsConfig } from "node:util";
import { measureIn } from "../config/units.ts";
import { DAY_MS, isoText } from "../lib/calendar.ts";
import { CommandFailure } from "./read-config.ts";

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;

type Option = {
  /** Stands for the value in the help; undefined for an option without a value. */
  readonly placeholder: string | undefined;
  readonly summary: string;
  /** The option's short form, one letter. */
  readonly short?: string;
  /** The path of the value in the request for a key. */
  readonly path?: readonly string[];
  /** The path of the setting that `none` removes, if it differs from `path`. */
  readonly whole?: readonly string[];
  readonly read?: (text: string, option: string, wallTimeMs: number) => unknown;
};

const list = (text: string): readonly string[] => text.split(",").map((each) => each.trim());

const number = (text: string, option: string): number => {
  if (!/^\d+(\.\d+)?$/.test(text)) throw wrong(`--${option}: expected a number, got ${text}`);
  return Number(text);
};

/** Reads a time; a duration counts from now. */
const time = (text: string, _option: string, wallTimeMs: number): string => {
  const durationMs = readDuration(text);
  return durationMs === undefined ? text : isoText(wallTimeMs + durationMs);
};

const toMs = measureIn({ s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS });

/** The milliseconds of `0`, `30s`, `5m`, `24h` or `90d`; undefined for other texts. */
export function readDuration(text: string): number | undefined {
  if (text === "0") return 0;
  return /^\d{1,6}[a-z]$/.test(text) && !Number.isNaN(toMs(text)) ? toMs(text) : undefined;
}

const placed = (
  path: string,
  placeholder: string | undefined,
  summary: string,
  read?: Option["read"],
): Option => ({ placeholder, summary, path: path.split("."), ...(read && { read }) });

const terms = {
  profile: placed(
    "profile",
    "browser|server",
    "a shorthand for several of the options that follow",
  ),
  networks: placed("networks", "a,b", "the networks that the key may use", list),
  methods: placed("methods", "eth_*,net_version", "the methods that the key may call", list),
  origins: placed("origins", "*.example.com", "the web origins from which it may be used", list),
  addresses: placed("addresses", "10.0.0.0/8", "the IP addresses from which it may be used", list),
  contracts: placed("contracts", "0x…,0x…", "the contracts that it may read", list),
  "read-only": placed("readOnly", undefined, "the key may only read"),
  explain: placed("explain", undefined, "its callers may ask where an answer comes from"),
  expires: placed("expires", "2027-01-31T00:00:00Z|90d", "the time when the key expires", time),
  rate: {
    ...placed("rate.computeUnits", "N", "compute units a second", number),
    whole: ["rate"], // a rate cannot have only a burst
  },
  burst: placed("rate.burst", "N", "compute units that can be saved up for a burst", number),
  "per-day": placed("computeUnits.perDay", "N", "compute units a day", number),
  "per-month": placed("computeUnits.perMonth", "N", "compute units a month", number),
  concurrent: placed("concurrentCalls", "N", "calls at the same time", number),
  weight: placed("weight", "N", "its share of turns at the nodes, relative to other keys", number),
  batch: placed("limits.batch", "N", "calls in one batch", number),
  "batch-response": placed(
    "limits.batchResponse",
    "BYTES",
    "bytes of the answers to one batch",
    number,
  ),
  "log-blocks": placed("limits.logs.blocks", "N", "blocks of one log query", number),
  "upstream-calls": placed("limits.upstreamCalls", "N", "calls to nodes for one call", number),
} satisfies Record<string, Option>;

/** The options that are settings of a key. */
export const termNames = Object.keys(terms);

export const options: Readonly<Record<string, Option>> = {
  config: { placeholder: "headgate.yaml", summary: "the configuration", short: "c" },
  name: { placeholder: "web", summary: "the key's name" },
  ...terms,
  overlap: { placeholder: "24h", summary: "how long the old text keeps working; 0: not at all" },
  from: { placeholder: "2026-11-01", summary: "the first day" },
  to: { placeholder: "2026-11-30", summary: "the last day" },
  network: { placeholder: "eth-mainnet", summary: "one network only" },
  csv: { placeholder: undefined, summary: "prints CSV" },
  json: { placeholder: undefined, summary: "prints JSON" },
  quiet: { placeholder: undefined, summary: "prints only the key's text" },
};

export const wrong = (message: string): CommandFailure =>
  new CommandFailure(message, { exitCode: 2 });

/** The options in the form of node:util's parseArgs. */
export const parsable = (names: readonly string[]): ParseArgsConfig["options"] =>
  Object.fromEntries(
    names.map((name) => {
      const { placeholder, short } = options[name] ?? {};
      return [name, { type: placeholder ? "string" : "boolean", ...(short && { short }) }];
    }),
  );

/** The request for a key that the options make. The value `none` becomes null, which removes a setting. */
export function requestOf(values: OptionValues, wallTimeMs: number): Record<string, unknown> {
  const request: Record<string, unknown> = {};
  for (const name of termNames) {
    const value = values[name];
    const { path = [], whole = path, read } = options[name] ?? {};
    if (value === undefined) continue;
    if (value === "none") put(request, whole, null);
    else
      put(request, path, typeof value === "string" && read ? read(value, name, wallTimeMs) : value);
  }
  return request;
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) target[name] = value;
  else if (target[name] !== null) {
    const inner = { ...(target[name] as Record<string, unknown> | undefined) };
    put(inner, rest, value);
    target[name] = inner;
  }
}
