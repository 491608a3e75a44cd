// What was learned of an upstream, as it is kept over restarts. It is no loss when it cannot be kept: then it is
// learned again. What others wrote there is not believed.
import { createHash } from "node:crypto";
import { z } from "zod";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import type { State } from "../../state/state.ts";

export type KeptCapabilitiesOptions = {
  readonly network: string;
  readonly upstream: string;
  /** A name may be given to another node: what is kept is of this one alone. */
  readonly url: string;
};

export type KeptCapabilitiesParts = {
  readonly clock: Pick<Clock, "after">;
  readonly state: Pick<State, "get" | "update">;
  readonly capabilities: {
    onChange(listener: () => void): void;
    toRecord(): CapabilityRecord;
    restore(record: CapabilityRecord): void;
  };
};

/** A crash loses no more than what was learned in so long. */
const WRITTEN_EVERY_MS = 5_000;

export class KeptCapabilities {
  #cancelWrite: (() => void) | undefined;
  readonly #writing = new Mutex();
  #isClosed = false;
  readonly #options: KeptCapabilitiesOptions;
  readonly #parts: KeptCapabilitiesParts;

  constructor(options: KeptCapabilitiesOptions, parts: KeptCapabilitiesParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes up what is kept, and keeps what is learned from now on. */
  async start(): Promise<void> {
    const { state, capabilities } = this.#parts;
    const record = await readCapabilities(this.#options, state).catch(() => undefined);
    if (record) capabilities.restore(record);
    capabilities.onChange(() => this.#writeLater());
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const isUnwritten = this.#cancelWrite !== undefined;
    this.#cancelWrite?.();
    await this.#writing.idle();
    if (isUnwritten) await this.#write();
  }

  #writeLater(): void {
    if (this.#cancelWrite || this.#isClosed) return;
    this.#cancelWrite = this.#parts.clock.after(WRITTEN_EVERY_MS, () => {
      this.#cancelWrite = undefined;
      void this.#writing.run(() => this.#write());
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { state, capabilities } = this.#parts;
    const key = keyOf(this.#options);
    const next = `${nodeOf(this.#options)} ${JSON.stringify(capabilities.toRecord())}`;
    try {
      // Others may write too, and the last one's word counts.
      await state.update([key], ([text]) => (text === next ? undefined : [next]));
    } catch {
      // A full disk is told of by those who cannot do without it.
    }
  }
}

/** What is kept of a node; undefined when there is nothing, or nothing that can be read. */
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

/** Not the URL itself, which may hold secrets. */
const nodeOf = ({ url }: KeptCapabilitiesOptions): string =>
  createHash("sha256").update(url).digest("hex").slice(0, 16);

/** What a node that does not tell its version is taken to be. */
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
  /** Left out: never read. */
  version: z.string().max(LONGEST_VERSION).optional(),
  /** Milliseconds since 1970. */
  learnedAtMs: z.number(),
  /** Name, the time until which it is taken to be lacked, and for how long that was. */
  missing: z.array(z.tuple([z.string().max(LONGEST_NAME), z.number(), z.number()])).max(100),
  history: z.object({
    state: reachBound.optional(),
    history: reachBound.optional(),
    traces: reachBound.optional(),
  }),
  /** The names of probes that were answered. */
  probed: z.array(z.string().max(LONGEST_NAME)).max(100),
  /** The most blocks that it takes in one log query, as it said. */
  widestLogs: z.number().int().positive().optional(),
  /** The most calls that it takes in one request, as it turned out. */
  batch: z.number().int().positive().optional(),
});

export type CapabilityRecord = z.infer<typeof record>;

/** A version is trusted for long, as a new one is noticed; a node that tells none may change any time. */
const LIVES_MS = 7 * DAY_MS;
const UNKNOWN_LIVES_MS = DAY_MS;

/** undefined when it is none, or one of another format. */
function decodeCapabilities(text: string): CapabilityRecord | undefined {
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

/** What is kept for long by some nodes only. */
export type Reach = "state" | "history" | "traces";

/** What is known of a reach. */
export type KnownReach =
  | { readonly kind: "unknown" }
  | { readonly kind: "all" }
  | {
      readonly kind: "part";
      /** So many of the newest blocks, at least. */
      readonly newest: number;
      /** And at most: the block behind them was not there. */
      readonly atMost: number;
      /** The oldest block that was there; undefined when none was asked for that was. */
      readonly since: number | undefined;
      /** The newest block that was not there. */
      readonly notAt: number;
    };

export type KnownReaches = Readonly<Record<Reach, KnownReach>>;

/** How far back a node was found to reach. */
export type ReachBound = {
  /** This block and all older ones are lacking: a node that began at a snapshot, or dropped an era. */
  lackedBlock: number;
  /** So many blocks behind the head, and further, all is lacking: a node that keeps the newest states. */
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

/** Who has one of the first blocks has all: the very first says little, as everybody keeps it. */
const FIRST_BLOCKS = 2;

export function knownOf(bound: ReachBound = nothingKnown()): KnownReach {
  const { lackedBlock, lackedDepth, hadBlock, hadDepth } = bound;
  if (hadBlock <= FIRST_BLOCKS && lackedBlock < 1) return { kind: "all" };
  if (!Number.isFinite(lackedDepth)) return { kind: "unknown" };
  const since = Number.isFinite(hadBlock) ? hadBlock : undefined;
  return { kind: "part", newest: hadDepth + 1, atMost: lackedDepth, since, notAt: lackedBlock };
}
