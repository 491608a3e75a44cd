// What was learned of a node, as it is kept over restarts. Pure; what others wrote there is not believed.
import { z } from "zod";
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { KnownReaches } from "./history.ts";

/** What a node that does not tell its version is taken to be. */
export const UNKNOWN_VERSION = "unknown";

/** In characters. */
export const LONGEST_VERSION = 200;
const LONGEST_NAME = 200;
const LONGEST_TEXT = 100_000;

const number = z.number().int().optional();
const bound = z.object({
  lackedBlock: number,
  lackedDepth: number,
  hadBlock: number,
  hadDepth: number,
});

const record = z.object({
  format: z.literal(1),
  /** Left out: never read. */
  version: z.string().max(LONGEST_VERSION).optional(),
  /** Milliseconds since 1970. */
  learnedAtMs: z.number(),
  /** Name, the time until which it is taken to be lacked, and for how long that was. */
  missing: z.array(z.tuple([z.string().max(LONGEST_NAME), z.number(), z.number()])).max(100),
  history: z.object({
    state: bound.optional(),
    history: bound.optional(),
    traces: bound.optional(),
  }),
  /** The names of probes that were answered. */
  probed: z.array(z.string().max(LONGEST_NAME)).max(100),
  /** The most blocks that it takes in one log query, as it said. */
  widestLogs: z.number().int().positive().optional(),
  /** The most calls that it takes in one request, as it turned out. */
  batch: z.number().int().positive().optional(),
});

export type CapabilityRecord = z.infer<typeof record>;

/** For metrics and for people. */
export type CapabilitySnapshot = {
  /** undefined while it was not read. */
  readonly version: string | undefined;
  readonly learnedAtMs: number;
  readonly lackedMethods: number;
  readonly reaches: KnownReaches;
  readonly widestLogs: number | undefined;
  readonly batch: number | undefined;
};

/** A version is trusted for long, as a new one is noticed; a node that tells none may change any time. */
const LIVES_MS = 7 * 86_400_000;
const UNKNOWN_LIVES_MS = 86_400_000;

export const encodeCapabilities = (capabilities: CapabilityRecord): string =>
  JSON.stringify(capabilities);

/** undefined when it is none, or one of another format. */
export function decodeCapabilities(text: string): CapabilityRecord | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  return record.safeParse(parsed(text)).data;
}

/** Whether what was learned is too old to be believed, or from a future that a wrong clock made. */
export function isOutdated(
  { version = UNKNOWN_VERSION, learnedAtMs }: Pick<CapabilityRecord, "version" | "learnedAtMs">,
  wallTimeMs: number,
): boolean {
  const ageMs = wallTimeMs - learnedAtMs;
  return (
    ageMs < -UNKNOWN_LIVES_MS ||
    ageMs >= (version === UNKNOWN_VERSION ? UNKNOWN_LIVES_MS : LIVES_MS)
  );
}
