// The keys that were made at runtime, as the state tells them: read again whenever one of them changes.
import type { Logger } from "pino";
import type { KeySettings } from "../../config/key-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Entry, State } from "../../state/state.ts";
import type { Grant } from "./grant.ts";
import { type KeyHasher, openKeyHasher } from "./key-hash.ts";
import { type KeyRecord, RECORDS, readRecord, VERSION } from "./key-record.ts";
import { findOpen, type KnownKey, type OpenKeys, openKeysOf } from "./open-keys.ts";

export type MadeKeysParts = {
  readonly state: Pick<State, "get" | "replace" | "list">;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
};

/** A change is everywhere within this and the time of two reads. */
const REFRESH_MS = 250;
/** An unknown key may have been made a moment ago; who guesses keys makes no more reads than this. */
const LOOK_AROUND_MS = 50;

export class MadeKeys {
  #hasher: KeyHasher | undefined;
  #open: OpenKeys = new Map();
  /** All that are there, as they were read. */
  #records: ReadonlyMap<string, { text: string; record: KeyRecord }> = new Map();
  /** Without those that are configured. A record that has not changed keeps its grant. */
  #known: ReadonlyMap<string, KnownKey & { text: string }> = new Map();
  #version: string | undefined;
  #configuredNames: ReadonlySet<string> = new Set();
  readonly #warned = new Set<string>();
  #reading: Promise<void> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = true;
  #isClosed = false;
  #stopTimer: () => void = () => undefined;
  readonly #options: { secret: string | undefined; grantOf: (settings: KeySettings) => Grant };
  readonly #parts: MadeKeysParts;

  constructor(
    options: { secret: string | undefined; grantOf: (settings: KeySettings) => Grant },
    parts: MadeKeysParts,
  ) {
    this.#options = options;
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#read();
    this.#readLater();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#reading;
  }

  /** @param keyText Its checksum is right. */
  find(keyText: string, wallTimeMs: number): Grant | undefined {
    return this.#hasher && findOpen(this.#open, this.#hasher.hash(keyText), wallTimeMs);
  }

  /** A key that nobody knows: perhaps it is there at the next try. */
  lookAround(): void {
    if (this.#parts.clock.now() - this.#readAtMs >= LOOK_AROUND_MS) void this.#read();
  }

  /** Names that are configured: the file wins. */
  leaveTo(names: ReadonlySet<string>): void {
    this.#configuredNames = names;
    this.#reopen();
  }

  #readLater(): void {
    if (this.#isClosed) return;
    this.#stopTimer = this.#parts.clock.after(REFRESH_MS, () => {
      void this.#read().then(() => this.#readLater());
    });
  }

  /** Never fails: where the state is away, what is known goes on. */
  #read(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#reading ??= this.#readOnce().then(
      () => this.#ended(true),
      (error: Error) => this.#ended(false, error),
    );
    return this.#reading;
  }

  #ended(isReachable: boolean, error?: Error): void {
    this.#reading = undefined;
    if (isReachable === this.#isReachable) return;
    this.#isReachable = isReachable;
    const { log } = this.#parts;
    if (isReachable) log.info("the keys can be read again");
    else {
      const reason = error?.message;
      log.warn({ reason }, "the keys cannot be read: those that are known go on working");
    }
  }

  async #readOnce(): Promise<void> {
    const { state, clock } = this.#parts;
    this.#readAtMs = clock.now();
    this.#hasher ??= await openKeyHasher(this.#options, state);
    // Before the records: a change meanwhile makes for one reading too many, never for one too few.
    const version = await state.get(VERSION);
    if (version === this.#version) return;
    this.#take(await state.list(RECORDS));
    this.#version = version;
  }

  #take(entries: readonly Entry[]): void {
    const records = new Map<string, { text: string; record: KeyRecord }>();
    for (const { key, text } of entries) {
      const before = this.#records.get(key);
      const record = before?.text === text ? before.record : readRecord(text);
      if (record && record.secretId === this.#hasher?.secretId) records.set(key, { text, record });
      else this.#warnOnce(key, "a key cannot be read, or was made with another keySecret");
    }
    this.#records = records;
    this.#reopen();
  }

  #reopen(): void {
    const known = new Map<string, KnownKey & { text: string }>();
    for (const [key, { text, record }] of this.#records) {
      const { settings } = record;
      if (this.#configuredNames.has(settings.name)) {
        this.#warnOnce(key, "a key of this name was made, and one is configured: the file wins");
        continue;
      }
      const before = this.#known.get(key);
      const grant = before?.text === text ? before.grant : this.#options.grantOf(settings);
      known.set(key, { text, record, grant });
    }
    this.#known = known;
    this.#open = openKeysOf(known.values());
  }

  #warnOnce(key: string, message: string): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#parts.log.warn({ key: key.slice(RECORDS.length) }, message);
  }
}
