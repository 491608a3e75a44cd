// One change of one made key, as one step beside all others: who comes second looks again.
import { randomBytes } from "node:crypto";
import type { State } from "../../state/state.ts";
import { type KeyRecord, readRecord, recordKey, recordText, VERSION } from "./key-record.ts";
import type { KeyView } from "./key-view.ts";

/** Why nothing was changed, in words for a person. */
export type KeyRefusal =
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] }
  | { readonly kind: "taken" | "unknown" | "refused"; readonly why: string };

export type KeyChanged = { readonly kind: "changed"; readonly key: KeyView };
/** `text` is the key itself: it is nowhere else, and never told again. */
export type KeyMade = { readonly kind: "made"; readonly key: KeyView; readonly text: string };

export const refusals = {
  mistake: (line: string): KeyRefusal => ({ kind: "mistakes", mistakes: [line] }),
  taken: (name: string): KeyRefusal => ({
    kind: "taken",
    why: `there is a key of the name ${name} already`,
  }),
  unknown: (name: string): KeyRefusal => ({
    kind: "unknown",
    why: `there is no key of the name ${name}`,
  }),
  configured: (name: string): KeyRefusal => ({
    kind: "refused",
    why: `the key ${name} is in the configuration file: change it there`,
  }),
  unreadable: (name: string): KeyRefusal => ({
    kind: "refused",
    why: `the key ${name} cannot be read: another version of the gateway wrote it`,
  }),
  revoked: (name: string): KeyRefusal => ({
    kind: "refused",
    why: `the key ${name} is revoked for good`,
  }),
};

/**
 * @param next What becomes of what is there; may be asked several times.
 * @throws stateUnavailable; then it may have happened or not.
 */
export async function changeRecord(
  name: string,
  next: (record: KeyRecord | undefined) => KeyRecord | KeyRefusal,
  state: Pick<State, "update">,
): Promise<KeyRecord | KeyRefusal> {
  let result: KeyRecord | KeyRefusal = refusals.unreadable(name);
  const version = randomBytes(8).toString("hex");
  await state.update([recordKey(name), VERSION], ([text]) => {
    const record = text === undefined ? undefined : readRecord(text);
    result = text !== undefined && !record ? refusals.unreadable(name) : next(record);
    return "kind" in result ? undefined : [recordText(result), version];
  });
  return result;
}

/** A change of a key that is there, and not revoked. */
export const whereItIs =
  (name: string, next: (record: KeyRecord) => KeyRecord | KeyRefusal) =>
  (record: KeyRecord | undefined): KeyRecord | KeyRefusal => {
    if (!record) return refusals.unknown(name);
    return record.revokedAtMs === undefined ? next(record) : refusals.revoked(name);
  };
