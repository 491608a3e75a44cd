// Ranks the upstreams for a call: the best one first, but now and then a new one, and within a batch the one that its
// first member chose. `CandidateList` has the upstreams that are left for a call while it goes on.
import { type MethodTraits, traitsFor, type WorkKind } from "../../namespaces/known-method.ts";
import type { Breaker } from "../health/health.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions } from "./call-options.ts";

/** For each kind of work, one call in this many may go to a node that is new or recovered. */
const TRIAL_EVERY = 16;
/** The calls that follow the chain; those of other families cost the same. */
const WHOLE_BLOCKS = {
  method: "eth_getBlockByNumber",
  traits: traitsFor("read", { workKind: "blocks" }),
  ...{ block: undefined, reaches: undefined, isTrial: false },
};

export class NodeOrder {
  readonly #callsByKind = new Map<WorkKind, number>();
  readonly #toleratedLag: number;

  constructor(options: { readonly toleratedLag: number }) {
    this.#toleratedLag = options.toleratedLag;
  }

  /** @param nodes The nodes that may be asked now, in the order of the configuration. */
  forCall<Node extends RankedUpstream>(
    nodes: readonly Node[],
    { method, traits }: Pick<Wanted, "method" | "traits">,
    { block, reaches, session }: Pick<CallOptions, "block" | "reaches" | "session">,
  ): readonly Node[] {
    const isTrial = this.#count(traits) % TRIAL_EVERY === 0 && traits.isRepeatable;
    const toleratedLag = this.#toleratedLag;
    const ranked = inOrder(nodes, { method, traits, block, reaches, toleratedLag, isTrial });
    if (!session) return ranked;
    const chosen = ranked.find(
      ({ name, health }) =>
        name === session.node && health.ofKind(traits.workKind).breaker !== "open",
    );
    session.node = chosen?.name ?? ranked[0]?.name;
    return chosen ? [chosen, ...ranked.filter((node) => node !== chosen)] : ranked;
  }

  /** The order for calls that read whole blocks one after the other. */
  forBlocks<Node extends RankedUpstream>(nodes: readonly Node[]): readonly Node[] {
    return inOrder(nodes, { ...WHOLE_BLOCKS, toleratedLag: this.#toleratedLag });
  }

  /** Counts the call. @returns Its number among the calls for the same kind of work. */
  #count({ workKind }: MethodTraits): number {
    const calls = (this.#callsByKind.get(workKind) ?? 0) + 1;
    this.#callsByKind.set(workKind, calls);
    return calls;
  }
}

export type RankedUpstream = Pick<
  Upstream,
  "name" | "options" | "health" | "turns" | "budget" | "capabilities" | "head" | "isOnOtherBranch"
>;

export type Wanted = {
  readonly method: string;
  readonly traits: MethodTraits;
  /** The number of the block that the call is about. */
  readonly block: number | undefined;
  /** As in `CallOptions`. */
  readonly reaches: number | undefined;
  /** The largest lag behind the best node that counts as none, in blocks. */
  readonly toleratedLag: number;
  /** Whether a node that is new or recovered may get this call. */
  readonly isTrial: boolean;
};

/** Best first. Calls about something that only one node has, such as a filter, take the order of the configuration. */
export function inOrder<Node extends RankedUpstream>(
  nodes: readonly Node[],
  wanted: Wanted,
): readonly Node[] {
  if (nodes.length < 2 || wanted.traits.isStateful) return nodes;
  const head = headOf(nodes);
  const candidates = nodes.map((node, index) => ({ ...candidateOf(node, wanted, head), index }));
  const ranked = rank(candidates);
  const order = wanted.isTrial ? withTrial(ranked) : ranked;
  return (order as typeof candidates).map(({ index }) => nodes[index] as Node);
}

/** The highest head of the nodes on the followed branch; undefined while none is known. */
export function headOf(
  nodes: readonly Pick<Upstream, "head" | "isOnOtherBranch">[],
): number | undefined {
  let highest: number | undefined;
  for (const { head, isOnOtherBranch } of nodes)
    if (head && !isOnOtherBranch) highest = Math.max(highest ?? 0, head.number);
  return highest;
}

/** Whether a node counts as lagging for calls that are about no block. */
export const isBehind = (
  node: Pick<Upstream, "head" | "isOnOtherBranch">,
  { head, toleratedLag }: { readonly head: number | undefined; readonly toleratedLag: number },
): boolean => lagOf(node, { reaches: undefined, toleratedLag }, head) > 0;

function candidateOf(
  node: RankedUpstream,
  { method, traits, block, reaches = block, toleratedLag }: Wanted,
  head: number | undefined,
): Candidate {
  const { breaker, errorRate, meanMs, isUntried } = node.health.ofKind(traits.workKind);
  const position = block === undefined || head === undefined ? undefined : { block, head };
  return {
    name: node.name,
    breaker,
    waitMs: node.budget.waitMs(node.budget.costOf(method)),
    isLacking:
      position !== undefined && node.capabilities.isLacking(traits.workKind, position, method),
    lag: lagOf(node, { reaches, toleratedLag }, head),
    errorRate,
    meanMs,
    inFlight: node.health.inFlight + node.turns.waiting,
    weight: node.options.weight,
    price: node.options.price,
    isUntried,
  };
}

function lagOf(
  { head: own, isOnOtherBranch }: Pick<Upstream, "head" | "isOnOtherBranch">,
  { reaches, toleratedLag }: Pick<Wanted, "reaches" | "toleratedLag">,
  head: number | undefined,
): number {
  if (isOnOtherBranch) return Number.POSITIVE_INFINITY;
  if (!own || head === undefined) return 0; // the lag is unknown
  if (reaches !== undefined) return Math.max(0, reaches - own.number);
  const lag = head - own.number;
  return lag <= toleratedLag ? 0 : lag;
}

type SubmissionUpstream = { readonly options: Pick<Upstream["options"], "isPrivate"> };

/**
 * The nodes that may take a transaction: where the network has private nodes, only these, or with `broadcast` only the
 * others.
 * @param usable The nodes that may be asked now.
 * @param all All nodes of the network: while its private nodes are away, others do not replace them.
 * @param broadcast The number of nodes that get the transaction; undefined: it goes to one, which may be private.
 */
export function submissionUpstreams<Node extends SubmissionUpstream>(
  usable: readonly Node[],
  all: readonly SubmissionUpstream[],
  broadcast: number | undefined,
): readonly Node[] {
  if (!all.some(({ options }) => options.isPrivate)) return usable;
  const isPrivate = broadcast === undefined;
  return usable.filter(({ options }) => options.isPrivate === isPrivate);
}

export type Candidate = {
  readonly name: string;
  readonly breaker: Breaker["kind"];
  /** How long the node's budget makes a call wait, in milliseconds. */
  readonly waitMs: number;
  /** The node seems to lack the data that the call needs, such as old state. */
  readonly isLacking: boolean;
  /** How many blocks the node lacks that the call needs, or lags behind the best node; infinite on another branch. */
  readonly lag: number;
  /** The share of recent calls that failed, from 0 to 1. */
  readonly errorRate: number;
  /** The mean time of the node's answers to this kind of work, in milliseconds; undefined without recent ones. */
  readonly meanMs: number | undefined;
  /** The number of calls that the node has not answered, or that wait for a turn at it. */
  readonly inFlight: number;
  /** Set by the operator: weight 2 gets twice the calls of weight 1; a node of weight 0 comes after the others. */
  readonly weight: number;
  /** Set by the operator, in any unit: of two healthy nodes the cheaper one is asked first. */
  readonly price: number;
  readonly isUntried: boolean;
};

/** Error rates within the same step of this size do not decide. */
const ERROR_STEP = 0.05;
/** Stands for the mean time of a node that was not measured: such nodes are the last among equals. */
const UNMEASURED_MS = 60_000;

type Sorted = { readonly candidate: Candidate; readonly keys: readonly number[] };

/**
 * Best first, by these keys in turn: a closed circuit breaker, the wait for budget, data that is there, the lag, a
 * weight above 0, the error rate in steps, the price, and the expected time with the calls in flight. Equal nodes stay
 * in the order of the configuration. Pure.
 */
export function rank(candidates: readonly Candidate[]): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  return candidates
    .map((candidate): Sorted => ({ candidate, keys: keysOf(candidate) }))
    .sort(byKeys)
    .map(({ candidate }) => candidate);
}

/**
 * The order of `rank`, but with the first new or recovered node in front, so that its health becomes known. Such a node
 * must not lag or cost more than the best node, lack the data, be without budget, or have weight 0.
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

/** How long a call may take at the node, with the calls that the node already has; divided by the weight. */
const loadOf = ({ meanMs = UNMEASURED_MS, inFlight, weight }: Candidate): number =>
  (meanMs * (inFlight + 1)) / (weight || 1);

function byKeys(a: Sorted, b: Sorted): number {
  for (const [index, key] of a.keys.entries()) {
    const other = b.keys[index] ?? 0;
    if (key !== other) return key < other ? -1 : 1; // a subtraction of two infinite lags would give NaN
  }
  return 0;
}

type WantedMethod = {
  readonly method: string;
  /** One of several variants of the method: ways to call it. */
  readonly variant: string | undefined;
};

/**
 * The upstreams that a call may still go to, in order. The list skips upstreams that lack the method, and sets those
 * without budget aside until `comeBack`.
 */
export class CandidateList {
  /** How many upstreams the list skipped, since they lack the method. */
  missing = 0;
  #next: Upstream[];
  /** The upstreams that have no budget now. */
  #limited: Upstream[] = [];
  /** The ends of the rests of upstreams that this call leaves alone for a while; undefined while there are none. */
  #restsUntilMs: Map<Upstream, number> | undefined;
  /** All upstreams that were ever in the list. */
  #known: readonly Upstream[];
  readonly #wanted: WantedMethod;

  constructor(upstreams: readonly Upstream[], wanted: WantedMethod) {
    this.#next = [...upstreams];
    this.#known = upstreams;
    this.#wanted = wanted;
  }

  get hasNext(): boolean {
    return this.#next.length > 0;
  }

  /** Drops upstreams that cannot be asked now from the front. @returns The first that can, which stays in the list. */
  advance(now: number): Upstream | undefined {
    for (let first = this.#next[0]; first; first = this.#next[0]) {
      if (this.#isMissing(first)) this.missing += 1;
      else if (this.#waitMs(first, now) > 0) this.#limited.push(first);
      else return first;
      this.#next.shift();
    }
    return undefined;
  }

  take(now: number): Upstream | undefined {
    return this.advance(now) && this.#next.shift();
  }

  /** Adds upstreams that were not there at the beginning. */
  add(upstreams: readonly Upstream[]): void {
    const added = upstreams.filter((upstream) => !this.#known.includes(upstream));
    if (added.length === 0) return;
    this.#known = [...this.#known, ...added];
    this.#next.push(...added);
  }

  /** Removes upstreams whose circuit breaker is open: no cross-check asks them. */
  dropOpen(workKind: WorkKind): void {
    const isAsked = ({ health }: Upstream): boolean => health.ofKind(workKind).breaker !== "open";
    this.#next = this.#next.filter(isAsked);
    this.#limited = this.#limited.filter(isAsked);
  }

  /** Sets an upstream aside which replied that it is asked too often. @param untilMs The earliest time to ask it again. */
  giveBack(upstream: Upstream, untilMs?: number): void {
    this.#limited.push(upstream);
    if (untilMs === undefined) return;
    this.#restsUntilMs ??= new Map();
    this.#restsUntilMs.set(upstream, untilMs);
  }

  get limited(): number {
    return this.#limited.length;
  }

  /** The time until the first upstream without budget has some, in milliseconds. */
  soonestMs(now: number): number {
    return Math.min(...this.#limited.map((upstream) => this.#waitMs(upstream, now)));
  }

  /** Puts the upstreams without budget back into the list. */
  comeBack(): void {
    this.#next.push(...this.#limited.splice(0));
  }

  /** An upstream without budget whose rate limit was only learned, so that a call may exceed it. */
  beyondLearnedLimit(now: number): Upstream | undefined {
    const { method } = this.#wanted;
    return this.#limited.find((upstream) => {
      const { budget } = upstream;
      const isResting = this.#restMs(upstream, now) > 0;
      return !isResting && budget.mayExceedLearnedLimit(budget.costOf(method));
    });
  }

  takeLimited(upstream: Upstream): Upstream {
    this.#limited = this.#limited.filter((other) => other !== upstream);
    return upstream;
  }

  #isMissing(upstream: Upstream): boolean {
    const { method, variant } = this.#wanted;
    return upstream.isMissing(method) || (variant !== undefined && upstream.isMissing(variant));
  }

  #waitMs(upstream: Upstream, now: number): number {
    const { budget } = upstream;
    const waitMs = budget.waitMs(budget.costOf(this.#wanted.method), now);
    return this.#restsUntilMs ? Math.max(waitMs, this.#restMs(upstream, now)) : waitMs;
  }

  #restMs(upstream: Upstream, now: number): number {
    return (this.#restsUntilMs?.get(upstream) ?? now) - now;
  }
}
