// The API keys: what each may do, found by its text. Only hashes stay in memory.
import { hash, timingSafeEqual } from "node:crypto";
import type { RateLimit } from "../jsonrpc/rpc-error.ts";
import { matcherOf } from "../lib/pattern.ts";
import { originMatcher } from "./origins.ts";
import { TokenBucket } from "./token-bucket.ts";

/** A key as configured: its text, or `sha256:` and the 64 hex digits of its hash. */
export type KeySettings = {
  readonly name: string;
  readonly networks?: readonly string[] | undefined;
  readonly methods?: readonly string[] | undefined;
  readonly origins?: readonly string[] | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly rate?:
    | { readonly computeUnitsPerSecond: number; readonly burstComputeUnits: number }
    | undefined;
  readonly limits: { readonly logs: { readonly blocks?: number | undefined } };
} & (
  | { readonly key: string; readonly hash?: never }
  | { readonly hash: string; readonly key?: never }
);

/** What the holder of a key may do. */
export type Grant = {
  readonly name: string;
  /** undefined when the key is not bound to origins. */
  readonly allowsOrigin: ((origin: string | undefined) => boolean) | undefined;
  readonly logBlocks: number | undefined;
  allowsNetwork(network: string): boolean;
  allowsMethod(method: string): boolean;
  isExpired(wallTimeMs: number): boolean;
  /** Takes the call's price in compute units; what a 429 tells when there is too little. */
  charge(cost: number, nowMs: number): RateLimit | undefined;
};

export class KeyRing {
  /** By the SHA-256 of the key, as latin1 text. */
  readonly #keys = new Map<string, { digest: Buffer; grant: Grant }>();

  constructor(keys: readonly KeySettings[], nowMs: number) {
    for (const settings of keys) {
      const digest = digestOf(settings);
      this.#keys.set(digest.toString("latin1"), { digest, grant: grantOf(settings, nowMs) });
    }
  }

  /**
   * The grant of a key, or undefined: unknown and expired keys look the same (decisions: the door).
   * The lookup goes by the hash, whose timing tells nothing of the key; equality is in constant time.
   */
  find(key: string, wallTimeMs: number): Grant | undefined {
    const digest = hash("sha256", key, "buffer");
    const entry = this.#keys.get(digest.toString("latin1"));
    if (!entry || !timingSafeEqual(entry.digest, digest)) return undefined;
    return entry.grant.isExpired(wallTimeMs) ? undefined : entry.grant;
  }
}

const digestOf = (settings: KeySettings): Buffer =>
  settings.key === undefined
    ? Buffer.from(settings.hash.slice("sha256:".length), "hex")
    : hash("sha256", settings.key, "buffer");

const everything = (): boolean => true;

function grantOf(settings: KeySettings, nowMs: number): Grant {
  const { rate, networks, methods, origins, expiresAtMs = Number.POSITIVE_INFINITY } = settings;
  const bucket =
    rate &&
    new TokenBucket(
      { perSecond: rate.computeUnitsPerSecond, burst: rate.burstComputeUnits },
      nowMs,
    );
  return {
    name: settings.name,
    allowsOrigin: origins && originMatcher(origins),
    logBlocks: settings.limits.logs.blocks,
    allowsNetwork: networks ? (network) => networks.includes(network) : everything,
    allowsMethod: methods ? matcherOf(methods) : everything,
    isExpired: (wallTimeMs) => wallTimeMs >= expiresAtMs,
    charge: (cost, now) => bucket?.take(cost, now),
  };
}
