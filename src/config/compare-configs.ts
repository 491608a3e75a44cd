// Compares two configurations: one line for each changed setting, with the old and the new value unless they may be
// secrets, and the changes that cannot be applied while the gateway runs. Pure.
import { isoText } from "../lib/calendar.ts";
import type { Config } from "./schema.ts";
import { type Path, pathText, withoutHeader } from "./setting-names.ts";
import { isMapping } from "./units.ts";

type ConfigChange = {
  readonly path: Path;
  /** The change in words, such as `limits.batch: 100 → 200`, without secrets. */
  readonly line: string;
};

export type Comparison = {
  readonly changes: readonly ConfigChange[];
  /** One line for each change that needs a restart. */
  readonly needRestart: readonly string[];
};

/** The differences between two configurations, in the order of the settings. */
export function compareConfigs(before: Config, after: Config): Comparison {
  const changes = differences([], before, after);
  const needRestart = changes
    .filter(({ path }) => !isAppliedLive(path, before, after))
    .map(({ path }) => `${writtenPath(path)}: needs a restart`);
  return { changes, needRestart };
}

/** Settings whose changes a running gateway applies; all others need a restart. */
const LIVE = new Set(
  "keys jwt limits timeouts log networks unidentified costs prices usage tail tracing admin.token admin.tokens listen.trustedProxies listen.forwardedHeader listen.tls.certificate listen.tls.key admin.listen.tls.certificate admin.listen.tls.key admin.listen.tls.clients".split(
    " ",
  ),
);

function isAppliedLive(path: Path, before: Config, after: Config): boolean {
  const [root, name, setting] = path;
  if (root !== "networks")
    return [1, 2, path.length].some((length) => LIVE.has(path.slice(0, length).join(".")));
  if (setting === undefined) return true;
  if (setting !== "chainId" && setting !== "family") return true;
  // Running calls still read the stored blocks of the old chain, which are useless for another one.
  const follows = ({ networks }: Config): boolean =>
    (networks[String(name)]?.window.blocks ?? 0) > 0;
  return !(follows(before) && follows(after));
}

/**
 * Mappings whose order matters: the first pattern that fits decides; for `costs` and `prices.methods`, the first of
 * equally long ones.
 */
const ORDERED = /(?:^|\.)(?:agreement|costs|prices\.methods)$/;

function differences(path: Path, before: unknown, after: unknown): readonly ConfigChange[] {
  if (Object.is(before, after)) return [];
  if (isMapping(before) && isMapping(after)) return mappingChanges(path, before, after);
  if (Array.isArray(before) && Array.isArray(after)) {
    if (areNamed(before) && areNamed(after)) return listChanges(path, before, after);
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
  }
  return [change(path, shownChange(path, before, after))];
}

function mappingChanges(path: Path, before: Mapping, after: Mapping): readonly ConfigChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const found = names.flatMap((name) => {
    const [one, other] = [before[name], after[name]];
    const at = [...path, name];
    // An added or removed mapping, such as a network or a rule, is one change.
    if (one === undefined && isMapping(other)) return [change(at, "added")];
    if (other === undefined && isMapping(one)) return [change(at, "removed")];
    return differences(at, one, other);
  });
  const isOrdered = ORDERED.test(path.join("."));
  const isReordered = isOrdered && Object.keys(before).join() !== Object.keys(after).join();
  return found.length === 0 && isReordered ? [change(path, "the order changed")] : found;
}

/** The line for changes in `unidentified`, a setting that the file does not have: it lists these among all networks. */
const UNIDENTIFIED = "networks whose chain is not known yet: changed";

const change = (path: Path, what: string): ConfigChange => ({
  path,
  line: path[0] === "unidentified" ? UNIDENTIFIED : `${writtenPath(path)}: ${what}`,
});

type Mapping = Readonly<Record<string, unknown>>;

type Named = { readonly name: string };

/** Compares lists of keys and upstreams by name, in any order. A change names the present index. */
function listChanges(
  path: Path,
  before: readonly Named[],
  after: readonly Named[],
): readonly ConfigChange[] {
  const partners = partnersOf(before, after);
  const stay = new Set(partners.values());
  const removed = before.flatMap((entry, at) =>
    stay.has(entry) ? [] : [change([...path, at], `removed (${entry.name})`)],
  );
  const kept = after.flatMap((entry, at) => {
    const partner = partners.get(entry);
    return partner
      ? differences([...path, at], partner, entry)
      : [change([...path, at], `added (${entry.name})`)];
  });
  const found = [...removed, ...kept];
  const isSameOrder = after.every(({ name }, at) => before[at]?.name === name);
  return found.length > 0 || isSameOrder ? found : [change(path, "the order changed")];
}

/** Pairs entries by name, and the rest by index: an upstream with a changed URL may have got another name from it. */
function partnersOf(before: readonly Named[], after: readonly Named[]): Map<Named, Named> {
  const byName = new Map(before.map((entry) => [entry.name, entry]));
  const names = new Set(after.map(({ name }) => name));
  const partners = new Map<Named, Named>();
  after.forEach((entry, at) => {
    const inPlace = before[at];
    const partner =
      byName.get(entry.name) ?? (inPlace && !names.has(inPlace.name) ? inPlace : undefined);
    if (partner) partners.set(entry, partner);
  });
  return partners;
}

const areNamed = (list: readonly unknown[]): list is readonly Named[] =>
  list.every((entry) => typeof entry === "object" && entry !== null && "name" in entry);

/** Settings whose texts are shown. Other texts may be secrets, so only the fact of their change is shown. */
const SHOWN = new Set(
  "level certificate role family proof pending vendor hosts allow deny networks methods origins addresses contracts host data totalDifficulty name trustedProxies forwardedHeader currency".split(
    " ",
  ),
);
/** Whether the text of a setting with this name may be shown. */
export const isShownText = (setting: string): boolean => SHOWN.has(setting);

/** The names in the file of settings that have another name in the code. */
const WRITTEN: Readonly<Record<string, string>> = {
  computeUnitsPerSecond: "computeUnits",
  burstComputeUnits: "burst",
  responseBytes: "response",
  bodyBytes: "body",
  memoryBytes: "memory",
  batchResponseBytes: "batchResponse",
  bytesPerSecond: "atLeast",
  expiresAtMs: "expires",
  isPrivate: "private",
  followsCallers: "callers",
  tellsUpstreams: "upstreams",
};

/** The path of a setting with the names of the file. */
const writtenPath = (path: Path): string => pathText(withoutHeader(path).map(writtenName));

const writtenName = (part: PropertyKey): PropertyKey =>
  typeof part === "string" ? (WRITTEN[part] ?? part.replace(/(?<=[a-z])Ms$/, "")) : part;

/** The change of a value, such as `100 → 200`; `changed` if the value may be a secret. */
function shownChange(path: Path, before: unknown, after: unknown): string {
  const [from, to] = [shown(path, before), shown(path, after)];
  return from === undefined || to === undefined ? "changed" : `${from} → ${to}`;
}

/** The value as text; undefined if it may be a secret. */
function shown(path: Path, value: unknown): string | undefined {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return String(value);
  const name = String(path.at(-1));
  if (typeof value === "number")
    return name.endsWith("AtMs") ? isoText(value) : shownNumber(name, value);
  // Only the last name of the path decides, since a network may have any name.
  if (!SHOWN.has(name) || path.at(-2) === "headers") return undefined;
  if (typeof value === "string") return value;
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isTexts ? `[${value.join(", ")}]` : undefined;
}

const shownNumber = (name: string, value: number): string =>
  value === Number.POSITIVE_INFINITY ? "off" : name.endsWith("Ms") ? `${value}ms` : String(value);
