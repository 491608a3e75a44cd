// What the state holds of a key that was made at runtime: never its text.
import type { KeySettings } from "../../config/key-settings.ts";

export type KeyRecord = {
  readonly settings: KeySettings;
  /** The HMAC of its text, base64url. */
  readonly hash: string;
  /** Which secret the hashes were made with. */
  readonly secretId: string;
  /** The text before the last rotation, which works until then. */
  readonly old?: { readonly hash: string; readonly untilMs: number } | undefined;
  readonly isDisabled: boolean;
  readonly createdAtMs: number;
  readonly rotatedAtMs?: number | undefined;
  /** For good. */
  readonly revokedAtMs?: number | undefined;
};

export const RECORDS = "keys record ";
/** Another text after each change: who reads often reads this alone. */
export const VERSION = "keys version";

export const recordKey = (name: string): string => RECORDS + name;

export const recordText = (record: KeyRecord): string => JSON.stringify(record);

/** @returns undefined for a text that no gateway wrote. */
export function readRecord(text: string): KeyRecord | undefined {
  try {
    const record = JSON.parse(text) as KeyRecord;
    return typeof record.hash === "string" && record.settings.limits.logs ? record : undefined;
  } catch {
    return undefined;
  }
}
