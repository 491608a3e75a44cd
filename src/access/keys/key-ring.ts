// Finds the key of every call by its text: among the keys of the configuration, and the keys that were made at runtime,
// which the ring reads from the state again whenever one of them changes. Only hashes of keys are stored; the ring
// remembers the texts of keys in use until any key changes.

import { hash, timingSafeEqual } from "node:crypto";
import type { Logger } from "pino";
import type { ConfiguredKey, KeySettings } from "../../config/key-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import { repeat } from "../../lib/waiting.ts";
import type { Entry, State } from "../../state/state.ts";
import type { LimitSettings, Meter } from "../limits/meter.ts";
import { Scope } from "../scope/scope.ts";
import type { KeyUsage } from "../usage/key-usage.ts";
import type { IdentityTokens } from "./identity-tokens.ts";
import { isKeyText, KEY_PREFIX, type KeyHasher, openKeyHasher } from "./key-hash.ts";
import { type KeyRecord, RECORDS, readRecord, VERSION } from "./key-record.ts";

/** The rights, limits and usage of a key's holder. */
export type Grant = {
  /** Unique among all keys. Filters, limits and usage belong to the name, which stays when the key's text changes. */
  readonly name: string;
  readonly scope: Scope;
  readonly meter: Meter;
  readonly usage: KeyUsage;
};

export type KeyRingParts = {
  /** Tokens of an identity provider, which callers use like keys; left out: there are none. */
  readonly tokens?: Pick<IdentityTokens, "known"> | undefined;
  readonly meters: { of(name: string, settings: LimitSettings): Meter };
  readonly usages: { of(name: string): KeyUsage };
  readonly state: Pick<State, "get" | "update" | "list">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly log: Pick<Logger, "info" | "warn">;
};

/** Every gateway knows a change of a made key within this time and the time of two reads. */
const REFRESH_MS = 250;
/** An unknown key may have been made a moment ago, so the ring reads again, but at most once in this time. */
const LOOK_AROUND_MS = 50;
/** How many texts of keys are remembered, since a hash costs more than the rest of a caller's admission. */
const MOST_RECENT = 10_000;

type OpenKey = { readonly digest: Buffer; readonly untilMs: number; readonly grant: Grant };

/** Keys that may be used, by the hash of the key's text (as latin1 text). */
type OpenKeys = ReadonlyMap<string, OpenKey>;

type ReadRecord = { readonly text: string; readonly record: KeyRecord };
type MadeKey = ReadRecord & { readonly grant: Grant };

export class KeyRing {
  /** The configured keys, by the SHA-256 of the text. */
  #configured: OpenKeys = new Map();
  #configuredNames: ReadonlySet<string> = new Set();
  /** The made keys, by the HMAC of the text. */
  #made: OpenKeys = new Map();
  /** The configured and made keys that may be used, by name. */
  #named: ReadonlyMap<string, OpenKey> = new Map();
  #hasher: KeyHasher | undefined;
  /** Keys that callers used, by their texts. */
  readonly #recent = new Map<string, OpenKey>();
  /** All records of the state, as of the last read. */
  #records: ReadonlyMap<string, ReadRecord> = new Map();
  /** The made keys whose names are not configured. A record that has not changed keeps its grant. */
  #known: ReadonlyMap<string, MadeKey> = new Map();
  #version: string | undefined;
  readonly #warned = new Set<string>();
  #reading: Promise<void> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = true;
  readonly #closing = new AbortController();
  readonly #secret: string | undefined;
  readonly #parts: KeyRingParts;

  /** @param options.secret The secret for the hashes of made keys; undefined: the secret in the state. */
  constructor(
    options: { configured: readonly ConfiguredKey[]; secret: string | undefined },
    parts: KeyRingParts,
  ) {
    this.#secret = options.secret;
    this.#parts = parts;
    this.reconfigure(options.configured);
  }

  /** Reads the made keys, and goes on reading their changes. Never fails. */
  async start(): Promise<void> {
    await this.#read();
    const { clock } = this.#parts;
    void repeat(REFRESH_MS, () => this.#read(), { clock, signal: this.#closing.signal });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  /** Replaces all configured keys at once. A configured key wins over a made key with the same name. */
  reconfigure(configured: readonly ConfiguredKey[]): void {
    const open = new Map<string, OpenKey>();
    for (const key of configured) {
      const digest = Buffer.from(key.hash.slice("sha256:".length), "hex");
      const { expiresAtMs: untilMs = Number.POSITIVE_INFINITY } = key;
      open.set(digest.toString("latin1"), { digest, untilMs, grant: this.#grantOf(key) });
    }
    this.#configured = open;
    this.#configuredNames = new Set(configured.map(({ name }) => name));
    this.#openMade();
  }

  /**
   * The grant of a key, or undefined for unknown, expired, disabled, revoked and mistyped keys alike
   * (docs/decisions/0035). A text that was not found before is looked up by its hash, so the time of the lookup tells
   * nothing about any key; hashes are compared in constant time.
   */
  find(keyText: string, wallTimeMs: number): Grant | undefined {
    const recent = this.#recent.get(keyText);
    if (recent && wallTimeMs < recent.untilMs) return recent.grant;
    const open = this.#open(keyText, wallTimeMs);
    if (!open) return undefined;
    if (this.#recent.size >= MOST_RECENT) this.#recent.clear();
    this.#recent.set(keyText, open);
    return open.grant;
  }

  /** The grant of a usable key by its name, for code that does not have its text; undefined when there is none. */
  named(name: string, wallTimeMs: number): Grant | undefined {
    const open = this.#named.get(name);
    return open && wallTimeMs < open.untilMs ? open.grant : undefined;
  }

  /** Forgets the remembered texts. To be called when a text may have another meaning. */
  forgetTexts(): void {
    this.#recent.clear();
  }

  #open(keyText: string, wallTimeMs: number): OpenKey | undefined {
    if (!keyText.startsWith(KEY_PREFIX))
      return this.#ofToken(keyText, wallTimeMs) ?? this.#findConfigured(keyText, wallTimeMs);
    if (!isKeyText(keyText)) return undefined;
    const open =
      (this.#hasher && findOpen(this.#made, this.#hasher.hash(keyText), wallTimeMs)) ??
      this.#findConfigured(keyText, wallTimeMs);
    // The key may have been made a moment ago: the ring reads the state, so that the caller's next try finds it.
    if (!open && this.#parts.clock.now() - this.#readAtMs >= LOOK_AROUND_MS) void this.#read();
    return open;
  }

  /** The key that a token names, while both the token and the key are valid. */
  #ofToken(text: string, wallTimeMs: number): OpenKey | undefined {
    const known = this.#parts.tokens?.known(text, wallTimeMs);
    const key = known && this.#named.get(known.name);
    if (!known || !key || wallTimeMs >= key.untilMs) return undefined;
    return { ...key, untilMs: Math.min(known.untilMs, key.untilMs) };
  }

  #findConfigured(keyText: string, wallTimeMs: number): OpenKey | undefined {
    return findOpen(this.#configured, hash("sha256", keyText, "binary"), wallTimeMs);
  }

  #grantOf(settings: KeySettings): Grant {
    const { name } = settings;
    const { meters, usages } = this.#parts;
    const scope = new Scope(settings);
    return { name, scope, meter: meters.of(name, settings), usage: usages.of(name) };
  }

  /** Never fails: while the state cannot be reached, the known keys go on working. */
  #read(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve();
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
      log.warn({ reason }, "the keys cannot be read: known keys go on working");
    }
  }

  async #readOnce(): Promise<void> {
    const { state, clock } = this.#parts;
    this.#readAtMs = clock.now();
    this.#hasher ??= await openKeyHasher({ secret: this.#secret }, state);
    // The version is read before the records: a change in between causes one read too many, never one too few.
    const version = await state.get(VERSION);
    if (version === this.#version) return;
    this.#take(await state.list(RECORDS));
    this.#version = version;
  }

  #take(entries: readonly Entry[]): void {
    const records = new Map<string, ReadRecord>();
    for (const { key, text } of entries) {
      const before = this.#records.get(key);
      const record = before?.text === text ? before.record : readRecord(text);
      if (record && record.secretId === this.#hasher?.secretId) records.set(key, { text, record });
      else this.#warnOnce(key, "a key cannot be read, or was made with another keySecret");
    }
    this.#records = records;
    this.#openMade();
  }

  #openMade(): void {
    const known = new Map<string, MadeKey>();
    for (const [key, { text, record }] of this.#records) {
      const { settings } = record;
      if (this.#configuredNames.has(settings.name)) {
        this.#warnOnce(
          key,
          "a key was made with the name of a configured key: only the configured key works",
        );
        continue;
      }
      const before = this.#known.get(key);
      const grant = before?.text === text ? before.grant : this.#grantOf(settings);
      known.set(key, { text, record, grant });
    }
    this.#known = known;
    this.#made = openKeysOf(known.values());
    // A rotated key has two entries; the entry of its new text comes last, and stays in `#named`.
    const open = [...this.#made.values(), ...this.#configured.values()];
    this.#named = new Map(open.map((key) => [key.grant.name, key]));
    this.#recent.clear();
  }

  #warnOnce(key: string, message: string): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#parts.log.warn({ key: key.slice(RECORDS.length) }, message);
  }
}

function openKeysOf(known: Iterable<MadeKey>): OpenKeys {
  const open = new Map<string, OpenKey>();
  const add = (kept: string, untilMs: number, grant: Grant): void => {
    const digest = Buffer.from(kept, "base64url");
    open.set(digest.toString("latin1"), { digest, untilMs, grant });
  };
  for (const { record, grant } of known) {
    const { old, settings, isDisabled, revokedAtMs } = record;
    if (isDisabled || revokedAtMs !== undefined) continue;
    const { expiresAtMs = Number.POSITIVE_INFINITY } = settings;
    if (old) add(old.hash, Math.min(old.untilMs, expiresAtMs), grant);
    add(record.hash, expiresAtMs, grant);
  }
  return open;
}

/** @param digest The hash of the key's text, as latin1 text. */
function findOpen(open: OpenKeys, digest: string, wallTimeMs: number): OpenKey | undefined {
  const entry = open.get(digest);
  if (!entry || !timingSafeEqual(entry.digest, Buffer.from(digest, "latin1"))) return undefined;
  return wallTimeMs < entry.untilMs ? entry : undefined;
}
