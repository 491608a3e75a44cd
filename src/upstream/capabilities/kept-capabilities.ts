// What was learned of an upstream, as it is kept over restarts. When it cannot be kept, it is learned again. What
// somebody else wrote there is not believed.
import { createHash } from "node:crypto";
import { z } from "zod";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { repeat } from "../../lib/waiting.ts";
import type { State } from "../../state/state.ts";

export type KeptCapabilitiesOptions = {
  readonly network: string;
  readonly upstream: string;
  /** The name may be given to another node later: what is kept belongs to this URL. */
  readonly url: string;
};

export type KeptCapabilitiesParts = {
  readonly clock: Pick<Clock, "sleep">;
  readonly state: Pick<State, "get" | "update">;
  readonly capabilities: {
    onChange(listener: () => void): void;
    toRecord(): CapabilityRecord;
    restore(record: CapabilityRecord): void;
  };
};

/** How often changes are written. A crash loses what was learned since. */
const WRITTEN_EVERY_MS = 5_000;

export class KeptCapabilities {
  #isChanged = false;
  readonly #closing = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  readonly #options: KeptCapabilitiesOptions;
  readonly #parts: KeptCapabilitiesParts;

  constructor(options: KeptCapabilitiesOptions, parts: KeptCapabilitiesParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Reads what is kept, and keeps what is learned from now on. */
  async start(): Promise<void> {
    const { state, capabilities, clock } = this.#parts;
    const record = await readCapabilities(this.#options, state).catch(() => undefined);
    if (record) capabilities.restore(record);
    capabilities.onChange(() => {
      this.#isChanged = true;
    });
    const { signal } = this.#closing;
    this.#loop = repeat(WRITTEN_EVERY_MS, () => this.#write(), { clock, signal });
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    await this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const { state, capabilities } = this.#parts;
    const key = keyOf(this.#options);
    const next = `${nodeOf(this.#options)} ${JSON.stringify(capabilities.toRecord())}`;
    try {
      // Others may write too: the last write counts.
      await state.update([key], ([text]) => (text === next ? undefined : [next]));
    } catch {
      // Who cannot do without the state logs that it cannot be written.
    }
  }
}

/** What is kept of a node; undefined when there is nothing, or it cannot be read. */
export async function readCapabilities(
  options: KeptCapabilitiesOptions,
  state: Pick<State, "get">,
): Promise<CapabilityRecord | undefined> {
  const text = (await state.get(keyOf(options))) ?? "";
  const node = `${nodeOf(options)} `;
  return text.startsWith(node) ? decodeCapabilities(text.slice(node.length)) : undefined;
}

const keyOf = ({ network, upstream }: KeptCapabilitiesOptions): string =>
  `abilities ${network} ${upstream}`;

/** A hash of the URL, which may contain secrets. */
const nodeOf = ({ url }: KeptCapabilitiesOptions): string =>
  createHash("sha256").update(url).digest("hex").slice(0, 16);

/** The version of a node that does not tell it. */
export const UNKNOWN_VERSION = "unknown";

/** In characters. */
export const LONGEST_VERSION = 200;
const LONGEST_NAME = 200;
const LONGEST_TEXT = 100_000;

const number = z.number().int().optional();
const reachBound = z.object({
  lackedBlock: number,
  lackedDepth: number,
  hadBlock: number,
  hadDepth: number,
});

const record = z.object({
  format: z.literal(1),
  /** Left out: the version was never read. */
  version: z.string().max(LONGEST_VERSION).optional(),
  /** Milliseconds since 1970. */
  learnedAtMs: z.number(),
  /** The name, the time until which it is taken to be missing, and how long that lasts. */
  missing: z.array(z.tuple([z.string().max(LONGEST_NAME), z.number(), z.number()])).max(100),
  history: z.object({
    state: reachBound.optional(),
    history: reachBound.optional(),
    traces: reachBound.optional(),
  }),
  /** The names of the probes that were answered. */
  probed: z.array(z.string().max(LONGEST_NAME)).max(100),
  /** The most blocks that it takes in one log query, by its own words. */
  widestLogs: z.number().int().positive().optional(),
  /** The most calls that it was found to take in one request. */
  batch: z.number().int().positive().optional(),
});

export type CapabilityRecord = z.infer<typeof record>;

/**
 * What was learned of a version holds for long, since a new version is noticed. A node that tells no version may change
 * at any time.
 */
const LIVES_MS = 7 * DAY_MS;
const UNKNOWN_LIVES_MS = DAY_MS;

/** undefined when it is no record, or one of another format. */
function decodeCapabilities(text: string): CapabilityRecord | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  return record.safeParse(parsed(text)).data;
}

/** Whether a record is too old to be believed, or from a future that a wrong clock made. */
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

/** Data that only some nodes keep for long. */
export type Reach = "state" | "history" | "traces";

/** What is known of how far back a node has such data. */
export type KnownReach =
  | { readonly kind: "unknown" }
  | { readonly kind: "all" }
  | {
      readonly kind: "part";
      /** It has at least this many of the newest blocks. */
      readonly newest: number;
      /** It has at most this many: the block behind them was missing. */
      readonly atMost: number;
      /** The oldest block that it was found to have; undefined when it was found to have none. */
      readonly since: number | undefined;
      /** The newest block that it was found to lack. */
      readonly notAt: number;
    };

export type KnownReaches = Readonly<Record<Reach, KnownReach>>;

/** How far back a node was found to have data. */
export type ReachBound = {
  /** It lacks this block and all older ones: it began at a snapshot, or dropped an era. */
  lackedBlock: number;
  /** It lacks blocks from this many behind the head on: it keeps the newest states. */
  lackedDepth: number;
  /** The oldest block that it was found to have, as a number and behind the head; -1: none. */
  hadBlock: number;
  hadDepth: number;
};

export const nothingKnown = (): ReachBound => ({
  lackedBlock: -1,
  lackedDepth: Number.POSITIVE_INFINITY,
  hadBlock: Number.POSITIVE_INFINITY,
  hadDepth: -1,
});

/** A node that has one of the first blocks has all. The very first says little, since every node keeps it. */
const FIRST_BLOCKS = 2;

export function knownOf(bound: ReachBound = nothingKnown()): KnownReach {
  const { lackedBlock, lackedDepth, hadBlock, hadDepth } = bound;
  if (hadBlock <= FIRST_BLOCKS && lackedBlock < 1) return { kind: "all" };
  if (!Number.isFinite(lackedDepth)) return { kind: "unknown" };
  const since = Number.isFinite(hadBlock) ? hadBlock : undefined;
  return { kind: "part", newest: hadDepth + 1, atMost: lackedDepth, since, notAt: lackedBlock };
}
