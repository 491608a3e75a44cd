// Keeps the capabilities of an upstream over restarts. If they cannot be kept, the gateway learns them again. An
// invalid record is ignored.
import { createHash } from "node:crypto";
import { z } from "zod";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { repeat } from "../../lib/waiting.ts";
import type { State } from "../../state/state.ts";

export type CapabilityStoreOptions = {
  readonly network: string;
  readonly upstream: string;
  /** The URL that the record belongs to: the upstream's name may be given to another node later. */
  readonly url: string;
};

export type CapabilityStoreParts = {
  readonly clock: Pick<Clock, "sleep">;
  readonly state: Pick<State, "get" | "update">;
  readonly capabilities: {
    onChange(listener: () => void): void;
    toRecord(): CapabilityRecord;
    restore(record: CapabilityRecord): void;
  };
};

/** The interval of writes. A crash loses the knowledge since the last write. */
const WRITTEN_EVERY_MS = 5_000;

export class CapabilityStore {
  #isChanged = false;
  readonly #closing = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  readonly #options: CapabilityStoreOptions;
  readonly #parts: CapabilityStoreParts;

  constructor(options: CapabilityStoreOptions, parts: CapabilityStoreParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Restores the kept record, and keeps the knowledge gained from now on. */
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

  /** Writes the unwritten knowledge. */
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
      // Other processes may write, too: the last write counts.
      await state.update([key], ([text]) => (text === next ? undefined : [next]));
    } catch {
      this.#isChanged = true;
      // Not logged here: other parts, which depend on the state, log its failures.
    }
  }
}

/** The kept record of an upstream; undefined when there is none, or it is invalid. */
export async function readCapabilities(
  options: CapabilityStoreOptions,
  state: Pick<State, "get">,
): Promise<CapabilityRecord | undefined> {
  const text = (await state.get(keyOf(options))) ?? "";
  const node = `${nodeOf(options)} `;
  const json = text.startsWith(node) ? text.slice(node.length) : "";
  return json.length > LONGEST_TEXT ? undefined : record.safeParse(parsed(json)).data;
}

const keyOf = ({ network, upstream }: CapabilityStoreOptions): string =>
  `abilities ${network} ${upstream}`;

/** A hash of the URL, which may itself contain secrets. */
const nodeOf = ({ url }: CapabilityStoreOptions): string =>
  createHash("sha256").update(url).digest("hex").slice(0, 16);

/** The version of a node that does not report its version. */
export const UNKNOWN_VERSION = "unknown";

/** Characters. */
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
  /** The name, the wall-clock time until which the method counts as missing, and the length of that pause. */
  missing: z.array(z.tuple([z.string().max(LONGEST_NAME), z.number(), z.number()])).max(100),
  history: z.object({
    state: reachBound.optional(),
    history: reachBound.optional(),
    traces: reachBound.optional(),
  }),
  /** The names of the probes that were answered. */
  probed: z.array(z.string().max(LONGEST_NAME)).max(100),
  /** The most blocks in one log query, as the node said. */
  widestLogs: z.number().int().positive().optional(),
  /** The most calls in one request that the node accepts. */
  batch: z.number().int().positive().optional(),
  /** Methods, and words with which the node refused a call that another node answered. */
  words: z
    .array(z.tuple([z.string().max(LONGEST_NAME), z.string().max(LONGEST_NAME)]))
    .max(64)
    .optional(),
});

export type CapabilityRecord = z.infer<typeof record>;

/**
 * Knowledge about a version stays valid for long, because the gateway notices a new version. A node that reports no
 * version may change at any time.
 */
const LIVES_MS = 7 * DAY_MS;
const UNKNOWN_LIVES_MS = DAY_MS;

/** Whether a record is too old, or from the future because of a wrong clock. */
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

/** The gateway's knowledge about how far back a node has such data. */
export type KnownReach =
  | { readonly kind: "unknown" }
  | { readonly kind: "all" }
  | {
      readonly kind: "part";
      /** The node has at least this many of the newest blocks. */
      readonly newest: number;
      /** The node has at most this many of the newest blocks: the next older block was missing. */
      readonly atMost: number;
      /** The oldest block that the node showed to have; undefined if none. */
      readonly since: number | undefined;
      /** The newest block that the node showed to lack. */
      readonly notAt: number;
    };

export type KnownReaches = Readonly<Record<Reach, KnownReach>>;

/** The bounds of a node's data, as its replies show them. */
export type ReachBound = {
  /** The node lacks this block and all older blocks: it began at a snapshot, or dropped an era. */
  lackedBlock: number;
  /** The node lacks blocks from this many behind the head on: it keeps only the newest states. */
  lackedDepth: number;
  /** The oldest block that the node showed to have, as a number, and as blocks behind the head (-1: none). */
  hadBlock: number;
  hadDepth: number;
};

export const nothingKnown = (): ReachBound => ({
  lackedBlock: -1,
  lackedDepth: Number.POSITIVE_INFINITY,
  hadBlock: Number.POSITIVE_INFINITY,
  hadDepth: -1,
});

/** A node that has one of the first blocks has all. Block 0 proves little, since every node keeps it. */
const FIRST_BLOCKS = 2;

export function knownOf(bound: ReachBound = nothingKnown()): KnownReach {
  const { lackedBlock, lackedDepth, hadBlock, hadDepth } = bound;
  if (hadBlock <= FIRST_BLOCKS && lackedBlock < 1) return { kind: "all" };
  if (!Number.isFinite(lackedDepth)) return { kind: "unknown" };
  const since = Number.isFinite(hadBlock) ? hadBlock : undefined;
  return { kind: "part", newest: hadDepth + 1, atMost: lackedDepth, since, notAt: lackedBlock };
}
