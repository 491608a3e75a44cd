// The keys that let callers in, found by their text on every call. Only hashes stay in memory.
import { hash } from "node:crypto";
import type { ConfiguredKey, KeySettings } from "../../config/key-settings.ts";
import type { LimitSettings, Meter } from "../limits/meter.ts";
import { Scope } from "../scope/scope.ts";
import type { KeyUsage } from "../usage/key-usage.ts";
import type { Grant } from "./grant.ts";
import { isKeyText, looksLikeKeyText } from "./key-text.ts";
import { MadeKeys, type MadeKeysParts } from "./made-keys.ts";
import { findOpen, type OpenKey, type OpenKeys } from "./open-keys.ts";

export type KeyRingParts = MadeKeysParts & {
  readonly meters: { of(name: string, settings: LimitSettings): Meter };
  readonly usages: { of(name: string): KeyUsage };
};

export class KeyRing {
  /** By the SHA-256 of the key, as latin1 text. */
  #configured: OpenKeys = new Map();
  readonly #made: MadeKeys;
  readonly #grantOf: (settings: KeySettings) => Grant;

  /** @param options.secret What the hashes of made keys are made with; undefined: what the state holds. */
  constructor(
    options: { configured: readonly ConfiguredKey[]; secret: string | undefined },
    parts: KeyRingParts,
  ) {
    this.#grantOf = (settings) => ({
      name: settings.name,
      scope: new Scope(settings),
      meter: parts.meters.of(settings.name, settings),
      usage: parts.usages.of(settings.name),
    });
    this.#made = new MadeKeys({ secret: options.secret, grantOf: this.#grantOf }, parts);
    this.reconfigure(options.configured);
  }

  /** Reads the keys that were made, and goes on reading what becomes of them. Never fails. */
  start(): Promise<void> {
    return this.#made.start();
  }

  close(): Promise<void> {
    return this.#made.close();
  }

  /** Takes these in the place of all configured keys, at once. */
  reconfigure(configured: readonly ConfiguredKey[]): void {
    const entries = configured.map((settings): [string, OpenKey] => {
      const digest = Buffer.from(settings.hash.slice("sha256:".length), "hex");
      const { expiresAtMs: untilMs = Number.POSITIVE_INFINITY } = settings;
      return [digest.toString("latin1"), { digest, untilMs, grant: this.#grantOf(settings) }];
    });
    this.#configured = new Map(entries);
    this.#made.leaveTo(new Set(configured.map(({ name }) => name)));
  }

  /**
   * The grant of a key, or undefined: what is unknown, expired, disabled, revoked or mistyped looks the
   * same (docs/decisions/0035). The lookup goes by the hash, whose timing tells nothing of the key;
   * equality is in constant time.
   */
  find(keyText: string, wallTimeMs: number): Grant | undefined {
    if (!looksLikeKeyText(keyText)) return this.#findConfigured(keyText, wallTimeMs);
    if (!isKeyText(keyText)) return undefined;
    const grant = this.#made.find(keyText, wallTimeMs) ?? this.#findConfigured(keyText, wallTimeMs);
    if (!grant) this.#made.lookAround();
    return grant;
  }

  #findConfigured(keyText: string, wallTimeMs: number): Grant | undefined {
    return findOpen(this.#configured, hash("sha256", keyText, "binary"), wallTimeMs);
  }
}
