// What a changed configuration changes: one line for each setting, with old and new values where these
// are no secrets, and whether it can be applied while the gateway runs. Pure.
import { listChanges } from "./compare-lists.ts";
import type { Path } from "./path.ts";
import type { Config } from "./schema.ts";
import { shownChange, writtenPath } from "./shown-change.ts";

type ConfigChange = {
  readonly path: Path;
  /** `limits.batch: 100 → 200`; secrets are left out. */
  readonly line: string;
};

export type Comparison = {
  readonly changes: readonly ConfigChange[];
  /** One line for each change that cannot be applied while the gateway runs. */
  readonly needRestart: readonly string[];
};

/** Everything in which the second configuration differs from the first, in the order of the settings. */
export function compareConfigs(before: Config, after: Config): Comparison {
  const changes = differences([], before, after);
  const needRestart = changes
    .filter(({ path }) => !isAppliedLive(path, before, after))
    .map(({ path }) => `${writtenPath(path)}: needs a restart`);
  return { changes, needRestart };
}

/** Settings that running parts take over; all others are what the process was made with. */
const LIVE = new Set(
  "keys limits timeouts log networks costs prices usage admin.token listen.trustedProxies listen.forwardedHeader".split(
    " ",
  ),
);

function isAppliedLive(path: Path, before: Config, after: Config): boolean {
  const [root, name, setting] = path;
  if (root !== "networks")
    return LIVE.has(String(root)) || LIVE.has(`${String(root)}.${String(name)}`);
  if (setting === undefined) return true;
  if (setting !== "chainId" && setting !== "family") return true;
  // What is stored of one chain is of no use for another, and calls still read it.
  const follows = ({ networks }: Config): boolean =>
    (networks[String(name)]?.window.blocks ?? 0) > 0;
  return !(follows(before) && follows(after));
}

/** Where the order of a mapping counts: the first pattern that fits does. */
const ORDERED = new Set(["agreement", "costs"]);

function differences(path: Path, before: unknown, after: unknown): readonly ConfigChange[] {
  if (Object.is(before, after)) return [];
  if (isMapping(before) && isMapping(after)) return mappingChanges(path, before, after);
  if (Array.isArray(before) && Array.isArray(after)) {
    const inside = (at: number, one: unknown, other: unknown): readonly ConfigChange[] =>
      differences([...path, at], one, other);
    const found = listChanges(before, after, inside);
    if (found !== "plain")
      return found.map((each) =>
        "line" in each ? each : change([...path, ...each.at], each.what),
      );
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
  }
  return [change(path, shownChange(path, before, after))];
}

function mappingChanges(path: Path, before: Mapping, after: Mapping): readonly ConfigChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const found = names.flatMap((name) => {
    const [one, other] = [before[name], after[name]];
    const at = [...path, name];
    // A network, a rule or a header that is new or gone is told as a whole.
    if (one === undefined && isMapping(other)) return [change(at, "added")];
    if (other === undefined && isMapping(one)) return [change(at, "removed")];
    return differences(at, one, other);
  });
  const isOrdered = ORDERED.has(String(path.at(-1)));
  const isReordered = isOrdered && Object.keys(before).join() !== Object.keys(after).join();
  return found.length === 0 && isReordered ? [change(path, "another order")] : found;
}

const change = (path: Path, what: string): ConfigChange => ({
  path,
  line: `${writtenPath(path)}: ${what}`,
});

type Mapping = Readonly<Record<string, unknown>>;

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);
