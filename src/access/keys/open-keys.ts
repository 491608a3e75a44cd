// Which texts let callers in now, of all keys that were made.
import { timingSafeEqual } from "node:crypto";
import type { Grant } from "./grant.ts";
import type { KeyRecord } from "./key-record.ts";

export type KnownKey = { readonly record: KeyRecord; readonly grant: Grant };

export type OpenKey = { readonly digest: Buffer; readonly untilMs: number; readonly grant: Grant };

/** By the hash of the key, as latin1 text. */
export type OpenKeys = ReadonlyMap<string, OpenKey>;

export function openKeysOf(known: Iterable<KnownKey>): OpenKeys {
  const open = new Map<string, OpenKey>();
  const add = (hash: string, untilMs: number, grant: Grant): void => {
    const digest = Buffer.from(hash, "base64url");
    open.set(digest.toString("latin1"), { digest, untilMs, grant });
  };
  for (const { record, grant } of known) {
    const { hash, old, settings, isDisabled, revokedAtMs } = record;
    if (isDisabled || revokedAtMs !== undefined) continue;
    const { expiresAtMs = Number.POSITIVE_INFINITY } = settings;
    if (old) add(old.hash, Math.min(old.untilMs, expiresAtMs), grant);
    add(hash, expiresAtMs, grant);
  }
  return open;
}

/**
 * The lookup's timing tells of the hash alone; equality is in constant time.
 *
 * @param digest As latin1 text.
 */
export function findOpen(open: OpenKeys, digest: string, wallTimeMs: number): Grant | undefined {
  const entry = open.get(digest);
  if (!entry || !timingSafeEqual(entry.digest, Buffer.from(digest, "latin1"))) return undefined;
  return wallTimeMs < entry.untilMs ? entry.grant : undefined;
}
