// Recent incidents that operators see with their evidence: false answers of nodes, and reorgs. Only as many are kept
// as a page shows.
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";

export type Evidence = {
  readonly upstream: string;
  readonly kind: "false answer" | "failed proof" | "disagreement";
  /** The method, or the block and its part. */
  readonly about: string;
  /** The beginning of the node's answer; undefined if it was not kept. */
  readonly said?: string | undefined;
  /** The facts that contradict the answer. */
  readonly found: string;
};

type BlockName = { readonly number: number; readonly hash: string };

export type Reorganisation = {
  /** The newest block that both branches have. */
  readonly fork: BlockName;
  /** The oldest blocks of each branch, and the number of all its blocks. */
  readonly removed: readonly BlockName[];
  readonly added: readonly BlockName[];
  readonly removedCount: number;
  readonly addedCount: number;
};

type At = { /** ISO 8601. */ readonly at: string };

export type NetworkIncidents = {
  readonly network: string;
  /** Both lists have the newest first. */
  readonly evidence: readonly (Evidence & At)[];
  readonly reorganisations: readonly (Reorganisation & At)[];
};

/** The most pieces of evidence kept for each node, and reorgs for each network. */
const MOST_EVIDENCE = 5;
const MOST_REORGANISATIONS = 5;
/** Characters. */
const MOST_SAID = 240;

type IncidentsParts = {
  readonly clock: Pick<Clock, "wallTime">;
  /** Removes secrets from the words of nodes. */
  readonly redact: (text: string) => string;
};

export class Incidents {
  readonly #byNetwork = new Map<string, NetworkIncidents>();
  readonly #parts: IncidentsParts;

  constructor(parts: IncidentsParts) {
    this.#parts = parts;
  }

  all(): readonly NetworkIncidents[] {
    return [...this.#byNetwork.values()];
  }

  caught(network: string, evidence: Evidence): void {
    const { at, past } = this.#of(network);
    // Cut afterwards, since nobody would find a secret that is cut in two.
    const shown = (text: string): string => this.#parts.redact(text).slice(0, MOST_SAID);
    const said = evidence.said === undefined ? undefined : shown(evidence.said);
    const words = { about: shown(evidence.about), said, found: shown(evidence.found) };
    const all = [{ at, ...evidence, ...words }, ...past.evidence];
    this.#byNetwork.set(network, { ...past, evidence: newestOfEach(all) });
  }

  reorganised(network: string, reorganisation: Reorganisation): void {
    const { at, past } = this.#of(network);
    const all = [{ at, ...reorganisation }, ...past.reorganisations];
    this.#byNetwork.set(network, {
      ...past,
      reorganisations: all.slice(0, MOST_REORGANISATIONS),
    });
  }

  /** Drops the incidents of a network that is no longer configured. */
  forget(network: string): void {
    this.#byNetwork.delete(network);
  }

  #of(network: string): { readonly at: string; readonly past: NetworkIncidents } {
    const past = this.#byNetwork.get(network) ?? { network, evidence: [], reorganisations: [] };
    return { at: isoText(this.#parts.clock.wallTime()), past };
  }
}

/** Combines the incidents of several processes, by network. */
export function combinedIncidents(
  told: readonly NetworkIncidents[],
): ReadonlyMap<string, NetworkIncidents> {
  const byNetwork = Map.groupBy(told, ({ network }) => network);
  const combined = [...byNetwork].map(([network, each]) => {
    const evidence = newestOfEach(newestFirst(each.flatMap((one) => one.evidence)));
    const reorganisations = newestFirst(each.flatMap((one) => one.reorganisations));
    return [network, { network, evidence, reorganisations }] as const;
  });
  return new Map(combined);
}

const newestFirst = <Entry extends At>(entries: readonly Entry[]): readonly Entry[] =>
  [...entries].sort((one, other) => (one.at < other.at ? 1 : -1));

/** @param evidence Newest first. */
const newestOfEach = (evidence: readonly (Evidence & At)[]): readonly (Evidence & At)[] => {
  const counts = new Map<string, number>();
  return evidence.filter(({ upstream }) => {
    const count = (counts.get(upstream) ?? 0) + 1;
    counts.set(upstream, count);
    return count <= MOST_EVIDENCE;
  });
};
