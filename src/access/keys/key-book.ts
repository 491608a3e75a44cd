// Makes and changes keys in the state that all gateways share. Each change is one atomic step, and every gateway sees it
// within a second.

import { hash, randomBytes } from "node:crypto";
import { type KeyContext, readableKey, unmatchedNames } from "../../config/contradictions.ts";
import {
  asWritten,
  type ConfiguredKey,
  type KeySettings,
  keyRequest,
  ownerName,
} from "../../config/key-settings.ts";
import { mistakeLine, mistakesOf, plainWords } from "../../config/mistakes.ts";
import type { Config } from "../../config/schema.ts";
import { isMapping } from "../../config/units.ts";
import type { Clock } from "../../lib/clock.ts";
import type { State, UpdateOptions } from "../../state/state.ts";
import { type KeyHasher, type NewKey, newKey, openKeyHasher } from "./key-hash.ts";
import {
  type KeyRecord,
  type KeyView,
  RECORDS,
  readRecord,
  recordKey,
  VERSION,
  viewOfConfigured,
  viewOfRecord,
} from "./key-record.ts";

/** The reason why a key was not changed, in words for a person. */
export type KeyRefusal =
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] }
  | { readonly kind: "taken" | "unknown" | "refused"; readonly why: string };

export type KeyChanged = { readonly kind: "changed"; readonly key: KeyView };
/** `text` is the key itself. No gateway stores it or shows it again. */
export type KeyMade = { readonly kind: "made"; readonly key: KeyView; readonly text: string };

export type Configured = KeyContext & { readonly keys: readonly ConfiguredKey[] };

export const configuredIn = ({
  keys,
  networks,
  unidentified,
}: Pick<Config, "keys" | "networks" | "unidentified">): Configured => ({
  keys,
  networks: Object.keys({ ...networks, ...unidentified }),
  openMethods: Object.values({ ...networks, ...unidentified }).flatMap(
    ({ methods }) => methods.allow,
  ),
});

/** A change that ends a key's use is urgent: it takes effect even while the state cannot be written. */
type Urgency = Pick<UpdateOptions, "isUrgent">;

/** The default time for which a key's old text still works after a rotation. */
export const OVERLAP_MS = 24 * 3_600_000;

export class KeyBook {
  #configured: Configured;
  #hasher: KeyHasher | undefined;
  readonly #secret: string | undefined;
  readonly #parts: Parts;

  constructor(options: Configured & { secret: string | undefined }, parts: Parts) {
    this.#configured = options;
    this.#secret = options.secret;
    this.#parts = parts;
  }

  reconfigure(configured: Configured): void {
    this.#configured = configured;
  }

  /** @param request The settings of a key as in the file, without `key` and `hash`. */
  async create(request: unknown): Promise<KeyMade | KeyRefusal> {
    const read = this.#read(request);
    if (read.kind === "mistakes") return read;
    const { settings } = read;
    if (this.#configuredKey(settings.name)) return refusals.taken(settings.name);
    const { text, ...hashed } = await this.#newKey();
    const createdAtMs = this.#parts.clock.wallTime();
    const changed = await this.#change(settings.name, (present) =>
      present
        ? refusals.taken(settings.name)
        : { settings, ...hashed, isDisabled: false, createdAtMs },
    );
    return changed.kind === "changed" ? { ...changed, kind: "made", text } : changed;
  }

  /** The configured keys, then the made keys in the order of their names. @throws stateUnavailable */
  async list(): Promise<readonly KeyView[]> {
    const now = this.#parts.clock.wallTime();
    const made = (await this.#parts.state.list(RECORDS)).flatMap(({ text }) => {
      const record = readRecord(text);
      return record && !this.#configuredKey(record.settings.name) ? this.#viewOf(record) : [];
    });
    return [...this.#configured.keys.map((key) => viewOfConfigured(key, now)), ...made];
  }

  async show(name: string): Promise<KeyView | undefined> {
    const now = this.#parts.clock.wallTime();
    const configured = this.#configuredKey(name);
    if (configured) return viewOfConfigured(configured, now);
    if (!isKeyName(name)) return undefined;
    const record = readRecord((await this.#parts.state.get(recordKey(name))) ?? "");
    return record && this.#viewOf(record);
  }

  /** Makes a new text for the same key. The text before it works for the overlap; still older texts do not work. */
  async rotate(name: string, options: { overlapMs: number }): Promise<KeyMade | KeyRefusal> {
    const { text, ...hashed } = await this.#newKey();
    const now = this.#parts.clock.wallTime();
    const changed = await this.#changeMade(name, (record) => {
      const worksOn = options.overlapMs > 0 && record.secretId === hashed.secretId;
      const old = worksOn ? { hash: record.hash, untilMs: now + options.overlapMs } : undefined;
      return { ...record, ...hashed, old, rotatedAtMs: now };
    });
    return changed.kind === "changed" ? { ...changed, kind: "made", text } : changed;
  }

  /** Revokes a key for good; its name stays taken. */
  revoke(name: string): Promise<KeyChanged | KeyRefusal> {
    const revokedAtMs = this.#parts.clock.wallTime();
    const next = (record: KeyRecord) => ({ ...record, old: undefined, revokedAtMs });
    return this.#changeMade(name, next, { isUrgent: true });
  }

  disable(name: string): Promise<KeyChanged | KeyRefusal> {
    const next = (record: KeyRecord) => ({ ...record, isDisabled: true });
    return this.#changeMade(name, next, { isUrgent: true });
  }

  enable(name: string): Promise<KeyChanged | KeyRefusal> {
    return this.#changeMade(name, (record) => ({ ...record, isDisabled: false }));
  }

  /** @param patch JSON merge patch: null removes a setting, and a setting that is left out stays. */
  update(name: string, patch: unknown): Promise<KeyChanged | KeyRefusal> {
    return this.#changeMade(name, (record) => {
      const read = this.#read(mergePatch(asWritten(record.settings), patch), record.settings);
      if (read.kind === "mistakes") return read;
      if (read.settings.name !== name) return refusals.mistake("name: cannot be changed");
      return { ...record, settings: read.settings };
    });
  }

  #read(request: unknown, before?: KeySettings): ReadRequest {
    const wallTimeMs = this.#parts.clock.wallTime();
    return readKeyRequest(request, { ...this.#configured, before, wallTimeMs });
  }

  #configuredKey(name: string): ConfiguredKey | undefined {
    return this.#configured.keys.find((key) => key.name === name);
  }

  /** Changes a key that exists and is not revoked. */
  async #changeMade(
    name: string,
    next: (record: KeyRecord) => KeyRecord | KeyRefusal,
    options: Urgency = {},
  ): Promise<KeyChanged | KeyRefusal> {
    if (this.#configuredKey(name)) return refusals.configured(name);
    if (!isKeyName(name)) return refusals.unknown(name);
    const change = (record: KeyRecord | undefined): KeyRecord | KeyRefusal => {
      if (!record) return refusals.unknown(name);
      return record.revokedAtMs === undefined ? next(record) : refusals.revoked(name);
    };
    return this.#change(name, change, options);
  }

  /**
   * @param next Makes the new record; it may be called several times.
   * @throws stateUnavailable: the change may have happened or not.
   */
  async #change(
    name: string,
    next: (record: KeyRecord | undefined) => KeyRecord | KeyRefusal,
    options: Urgency = {},
  ): Promise<KeyChanged | KeyRefusal> {
    const { state } = this.#parts;
    let result: KeyRecord | KeyRefusal = refusals.unreadable(name);
    const id = randomBytes(8).toString("hex");
    const keys = [recordKey(name), VERSION];
    await state.update(
      keys,
      ([text, before = ""]) => {
        const record = text === undefined ? undefined : readRecord(text);
        result = text !== undefined && !record ? refusals.unreadable(name) : next(record);
        // The version depends on the one before: a held change may be repeated over a change that no ring has read yet.
        const version = hash("sha256", before + id, "base64url");
        return "kind" in result ? undefined : [JSON.stringify(result), version];
      },
      options,
    );
    return "kind" in result ? result : { kind: "changed", key: this.#viewOf(result) };
  }

  #viewOf(record: KeyRecord): KeyView {
    const { state, clock } = this.#parts;
    const view = viewOfRecord(record, clock.wallTime());
    return state.isHeld?.(recordKey(view.name)) ? { ...view, isKept: false } : view;
  }

  async #newKey(): Promise<NewKey> {
    this.#hasher ??= await openKeyHasher({ secret: this.#secret }, this.#parts.state);
    return newKey(this.#hasher);
  }
}

/** Keys have only such names, and the state cannot look up a text of any length. */
const isKeyName = (name: string): boolean => ownerName.safeParse(name).success;

type Parts = { readonly state: State; readonly clock: Pick<Clock, "wallTime"> };

const refused = (why: string): KeyRefusal => ({ kind: "refused", why });

const refusals = {
  mistake: (line: string): KeyRefusal => ({ kind: "mistakes", mistakes: [line] }),
  taken: (name: string): KeyRefusal => ({
    kind: "taken",
    why: `there is a key of the name ${name} already`,
  }),
  unknown: (name: string): KeyRefusal => ({
    kind: "unknown",
    why: `there is no key of the name ${name}`,
  }),
  configured: (name: string) =>
    refused(`the key ${name} is in the configuration file: change it there`),
  unreadable: (name: string) =>
    refused(`the key ${name} cannot be read: another version of the gateway wrote it`),
  revoked: (name: string) => refused(`the key ${name} is revoked for good`),
};

/** A request for a key, after the checks for keys of the file. */
type ReadRequest =
  | { readonly kind: "settings"; readonly settings: KeySettings }
  /** One line for each mistake, with its path. */
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] };

type RequestContext = KeyContext & {
  readonly wallTimeMs: number;
  /** The settings of the key before the change. */
  readonly before: KeySettings | undefined;
};

function readKeyRequest(request: unknown, context: RequestContext): ReadRequest {
  // Checked as the first key of a file, so that the mistakes name similar settings and show no values.
  const parsed = keyRequest.safeParse(request, { error: plainWords });
  const issues = (parsed.error?.issues ?? []).map((issue) => ({
    ...issue,
    path: ["keys", 0, ...issue.path],
  }));
  const found = mistakesOf(issues, { keys: [request] }, () => true);
  const { networks, methods } = readableKey.parse(request);
  // A pattern that the key had before is no mistake, even if it fits no method.
  const had = new Set(context.before?.methods);
  const added = methods.map((entry) => (entry === undefined || had.has(entry) ? undefined : entry));
  const mistakes = [...found, ...unmatchedNames({ networks, methods: added }, 0, context)]
    .map(({ path, message }) => mistakeLine({ path: path.slice(2), message }))
    .map((line) => line.replace(/^the file: /, "the key: "))
    .map((line) => line.replace(/^(key|hash): .*/, "$1: the gateway makes it"));
  const expiresAtMs = parsed.data?.expiresAtMs ?? Number.POSITIVE_INFINITY;
  if (expiresAtMs <= context.wallTimeMs && expiresAtMs !== context.before?.expiresAtMs)
    mistakes.push("expires: is in the past");
  return parsed.success && mistakes.length === 0
    ? { kind: "settings", settings: parsed.data }
    : { kind: "mistakes", mistakes };
}

/** A value after a JSON merge patch (RFC 7396). */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const merged = new Map(isMapping(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
