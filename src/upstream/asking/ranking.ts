// Decides which nodes to ask, in which order. Pure: the pool acts on the answer.
import type { Breaker } from "../health/breaker.ts";

export type Candidate = {
  readonly name: string;
  readonly breaker: Breaker["kind"];
  /** How long its budget makes a call wait, in milliseconds. */
  readonly waitMs: number;
  /** It said that it does not have what the call speaks of, such as old state. */
  readonly isLacking: boolean;
  /** Blocks behind what the call needs, or behind the best node; endless on another fork. */
  readonly lag: number;
  /** 0 to 1. */
  readonly errorRate: number;
  /** Of its answers to this kind of work, slow ones included; undefined when it gave none lately. */
  readonly meanMs: number | undefined;
  /** What it has to answer, and what waits for it. */
  readonly inFlight: number;
  /** The operator's: a node of weight 2 gets twice the calls of an equal one. 0: only in need. */
  readonly weight: number;
  /** The operator's, in any unit: the cheaper of two healthy nodes is asked. */
  readonly price: number;
  readonly isUntried: boolean;
};

/** Rarer failures than this are everybody's, and do not decide. */
const ERROR_STEP = 0.05;
/** For nodes that were not measured while others were: asked last among equals. */
const UNMEASURED_MS = 60_000;

type Sorted = { readonly candidate: Candidate; readonly keys: readonly number[] };

/**
 * Best first. Who is open, limited or known to lack something is asked only when the others failed;
 * who lags loses to all who do not, who fails to all who do not; then the cheaper, then the faster one,
 * as far as it is not busy. Equals stay in the order of the configuration.
 */
export function rank(candidates: readonly Candidate[]): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  return candidates
    .map((candidate): Sorted => ({ candidate, keys: keysOf(candidate) }))
    .sort(byKeys)
    .map(({ candidate }) => candidate);
}

/**
 * The same order, with one that is new or recovered in front: how else should it become known? Not when
 * it lags, costs more, or has no budget.
 *
 * @param ranked As `rank` gives it.
 */
export function withTrial(ranked: readonly Candidate[]): readonly Candidate[] {
  const [best] = ranked;
  const trial = ranked.find((candidate) => candidate !== best && isWorthATrial(candidate, best));
  return trial ? [trial, ...ranked.filter((candidate) => candidate !== trial)] : ranked;
}

const isWorthATrial = (candidate: Candidate, best: Candidate | undefined): boolean =>
  best !== undefined &&
  candidate.isUntried &&
  candidate.breaker !== "open" &&
  candidate.waitMs === 0 &&
  !candidate.isLacking &&
  candidate.weight > 0 &&
  candidate.price <= best.price &&
  candidate.lag <= best.lag;

const keysOf = (candidate: Candidate): readonly number[] => [
  candidate.breaker === "closed" ? 0 : 1,
  Math.max(0, candidate.waitMs),
  candidate.isLacking ? 1 : 0,
  candidate.lag,
  candidate.weight > 0 ? 0 : 1,
  Math.floor(candidate.errorRate / ERROR_STEP),
  candidate.price,
  loadOf(candidate),
];

/** How long a call may take there, given what it has to do already. */
const loadOf = ({ meanMs = UNMEASURED_MS, inFlight, weight }: Candidate): number =>
  (meanMs * (inFlight + 1)) / (weight || 1);

function byKeys(a: Sorted, b: Sorted): number {
  for (const [index, key] of a.keys.entries()) {
    const other = b.keys[index] ?? 0;
    if (key !== other) return key < other ? -1 : 1; // no difference: two endless lags have none
  }
  return 0;
}
