// The record of a key that was made at runtime, as the state has it, without the key's text; and the view for operators.
import {
  asWritten,
  type ConfiguredKey,
  type KeyRequest,
  type KeySettings,
} from "../../config/key-settings.ts";
import { isoText } from "../../lib/calendar.ts";

export type KeyRecord = {
  readonly settings: KeySettings;
  /** The HMAC of the key's text, base64url. */
  readonly hash: string;
  /** The id of the secret with which the hashes were made. */
  readonly secretId: string;
  /** The text before the last rotation, which works until `untilMs`. */
  readonly old?: { readonly hash: string; readonly untilMs: number } | undefined;
  readonly isDisabled: boolean;
  readonly createdAtMs: number;
  readonly rotatedAtMs?: number | undefined;
  /** The time of the revocation, which is final. */
  readonly revokedAtMs?: number | undefined;
};

export const RECORDS = "keys record ";
/** The name of an entry that changes with every change of any key: readers poll this entry alone. */
export const VERSION = "keys version";

export const recordKey = (name: string): string => RECORDS + name;

/** @returns undefined for a text that is no record of this version. */
export function readRecord(text: string): KeyRecord | undefined {
  try {
    const record = JSON.parse(text) as KeyRecord;
    return typeof record.hash === "string" && record.settings.limits.logs ? record : undefined;
  } catch {
    return undefined;
  }
}

/** A key for operators: its settings in the words of the configuration, times as ISO 8601 texts, and no secret. */
export type KeyView = {
  readonly name: string;
  /** The key's origin: the configuration file, or made at runtime. */
  readonly source: "file" | "made";
  readonly status: "active" | "disabled" | "expired" | "revoked";
  readonly createdAt?: string;
  readonly rotatedAt?: string;
  /** The time until which the text before the last rotation works. */
  readonly oldKeyWorksUntil?: string;
  readonly revokedAt?: string;
  /** false: this change is in memory only, until the state can be written. */
  readonly isKept?: false;
  /** The settings as they would be written in the file. */
  readonly settings: Omit<KeyRequest, "name">;
};

export function viewOfRecord(record: KeyRecord, wallTimeMs: number): KeyView {
  const { settings, old, createdAtMs, rotatedAtMs, revokedAtMs } = record;
  const hasOld = old !== undefined && wallTimeMs < old.untilMs && revokedAtMs === undefined;
  return {
    name: settings.name,
    source: "made",
    status: statusOf(record, wallTimeMs),
    createdAt: isoText(createdAtMs),
    ...(rotatedAtMs === undefined ? {} : { rotatedAt: isoText(rotatedAtMs) }),
    ...(hasOld ? { oldKeyWorksUntil: isoText(old.untilMs) } : {}),
    ...(revokedAtMs === undefined ? {} : { revokedAt: isoText(revokedAtMs) }),
    settings: termsOf(settings),
  };
}

export function viewOfConfigured(key: ConfiguredKey, wallTimeMs: number): KeyView {
  const { hash: _, ...settings } = key;
  const status = isExpired(settings, wallTimeMs) ? "expired" : "active";
  return { name: key.name, source: "file", status, settings: termsOf(settings) };
}

function statusOf(record: KeyRecord, wallTimeMs: number): KeyView["status"] {
  if (record.revokedAtMs !== undefined) return "revoked";
  if (record.isDisabled) return "disabled";
  return isExpired(record.settings, wallTimeMs) ? "expired" : "active";
}

const isExpired = ({ expiresAtMs }: KeySettings, wallTimeMs: number): boolean =>
  expiresAtMs !== undefined && wallTimeMs >= expiresAtMs;

function termsOf(settings: KeySettings): KeyView["settings"] {
  const { name: _, ...terms } = asWritten(settings);
  return terms;
}
