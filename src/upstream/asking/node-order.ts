// Which upstreams may have a call, and in which order: the best one first, but a new one now and then, and within a
// batch the one that began it (`rank` decides, purely). And the list of upstreams that are left for a call while it
// goes on.
import { type MethodTraits, traitsFor, type WorkKind } from "../../namespaces/known-method.ts";
import type { Breaker } from "../health/health.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions } from "./call-options.ts";

/** One call in this many goes to a node that is new or recovered. */
const TRIAL_EVERY = 16;
/** The calls by which the chain is followed; another family has others of the same price. */
const WHOLE_BLOCKS = {
  method: "eth_getBlockByNumber",
  traits: traitsFor("read", { workKind: "blocks" }),
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

  /** The order for reading whole blocks one after the other. */
  forBlocks<Node extends RankedUpstream>(nodes: readonly Node[]): readonly Node[] {
    return inOrder(nodes, {
      ...{ ...WHOLE_BLOCKS, toleratedLag: this.#toleratedLag },
      ...{ block: undefined, reaches: undefined, isTrial: false },
    });
  }

  /** @returns The number of this call among the calls for such work. */
  #count({ workKind }: MethodTraits): number {
    const calls = (this.#callsByKind.get(workKind) ?? 0) + 1;
    this.#callsByKind.set(workKind, calls);
    return calls;
  }
}

export type RankedUpstream = Pick<
  Upstream,
  "name" | "options" | "health" | "turns" | "budget" | "capabilities" | "head" | "isElsewhere"
>;

export type Wanted = {
  readonly method: string;
  readonly traits: MethodTraits;
  /** The number of the block that the call is about. */
  readonly block: number | undefined;
  /** See `CallOptions`. */
  readonly reaches: number | undefined;
  /** How many blocks behind the best node do not count. */
  readonly toleratedLag: number;
  /** A node that is new or recovered may get this call. */
  readonly isTrial: boolean;
};

/** Best first. For what only one node has, the order of the configuration counts. */
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

/** The highest head that a node on the followed chain told. */
export function headOf(
  nodes: readonly Pick<Upstream, "head" | "isElsewhere">[],
): number | undefined {
  let highest: number | undefined;
  for (const { head, isElsewhere } of nodes)
    if (head && !isElsewhere) highest = Math.max(highest ?? 0, head.number);
  return highest;
}

/** Whether a node counts as lagging, for calls that are about no block. */
export const isBehind = (
  node: Pick<Upstream, "head" | "isElsewhere">,
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
    isLacking: position !== undefined && node.capabilities.isLacking(traits.workKind, position),
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
  { head: own, isElsewhere }: Pick<Upstream, "head" | "isElsewhere">,
  { reaches, toleratedLag }: Pick<Wanted, "reaches" | "toleratedLag">,
  head: number | undefined,
): number {
  if (isElsewhere) return Number.POSITIVE_INFINITY;
  if (!own || head === undefined) return 0; // nobody knows
  if (reaches !== undefined) return Math.max(0, reaches - own.number);
  const lag = head - own.number;
  return lag <= toleratedLag ? 0 : lag;
}

type Taker = { readonly options: Pick<Upstream["options"], "isPrivate"> };

/**
 * @param usable The nodes that may be asked now.
 * @param all All nodes of the network: while its private nodes are away, others do not replace them.
 * @param broadcast How many nodes it is sent to; undefined: it need not be everywhere.
 */
export function takersOf<Node extends Taker>(
  usable: readonly Node[],
  all: readonly Taker[],
  broadcast: number | undefined,
): readonly Node[] {
  if (!all.some(({ options }) => options.isPrivate)) return usable;
  const isPrivate = broadcast === undefined;
  return usable.filter(({ options }) => options.isPrivate === isPrivate);
}

export type Candidate = {
  readonly name: string;
  readonly breaker: Breaker["kind"];
  /** How long its budget makes a call wait, in milliseconds. */
  readonly waitMs: number;
  /** It said that it does not have what the call is about, such as old state. */
  readonly isLacking: boolean;
  /** How many blocks it is behind what the call needs, or behind the best node; infinite on another fork. */
  readonly lag: number;
  /** 0 to 1. */
  readonly errorRate: number;
  /** The mean time of its answers to this kind of work, with slow ones; undefined when there were none lately. */
  readonly meanMs: number | undefined;
  /** The calls that it has to answer, and those that wait for it. */
  readonly inFlight: number;
  /**
   * Set by the operator: a node of weight 2 gets twice the calls of an equal one. 0: it is asked only when no other can
   * be.
   */
  readonly weight: number;
  /** Set by the operator, in any unit: the cheaper of two healthy nodes is asked. */
  readonly price: number;
  readonly isUntried: boolean;
};

/** Error rates that differ by less than this do not decide. */
const ERROR_STEP = 0.05;
/** Stands for nodes that were not measured while others were: they are the last among equals. */
const UNMEASURED_MS = 60_000;

type Sorted = { readonly candidate: Candidate; readonly keys: readonly number[] };

/**
 * Best first. A node with an open breaker or without budget, or one that is known to lack something, is asked only when
 * the others failed. A lagging node comes after all that do not lag, a failing one after all that do not fail. Then the
 * cheaper one is first, then the faster one, as far as it is not busy. Equals stay in the order of the configuration.
 */
export function rank(candidates: readonly Candidate[]): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  return candidates
    .map((candidate): Sorted => ({ candidate, keys: keysOf(candidate) }))
    .sort(byKeys)
    .map(({ candidate }) => candidate);
}

/**
 * The same order with a node in front that is new or recovered, so that it becomes known. Not when it lags, costs more,
 * or has no budget.
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

/** How long a call may take at the node, with the calls that it already has. */
const loadOf = ({ meanMs = UNMEASURED_MS, inFlight, weight }: Candidate): number =>
  (meanMs * (inFlight + 1)) / (weight || 1);

function byKeys(a: Sorted, b: Sorted): number {
  for (const [index, key] of a.keys.entries()) {
    const other = b.keys[index] ?? 0;
    if (key !== other) return key < other ? -1 : 1; // two infinite lags have no difference
  }
  return 0;
}

type WantedMethod = {
  readonly method: string;
  /** One of several ways to call the method. */
  readonly way: string | undefined;
};

/**
 * The upstreams that a call may still go to, in order. Those that lack the method are skipped; those without budget
 * come back when they have some.
 */
export class CandidateList {
  /** How many upstreams lack the method. */
  missing = 0;
  #next: Upstream[];
  /** The upstreams that have no budget now. */
  #limited: Upstream[] = [];
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

  /** Skips upstreams at the front that cannot be asked now. @param now By the clock. @returns The first that can; it stays. */
  advance(now?: number): Upstream | undefined {
    for (let first = this.#next[0]; first; first = this.#next[0]) {
      if (this.#isMissing(first)) this.missing += 1;
      else if (this.#waitMs(first, now) > 0) this.#limited.push(first);
      else return first;
      this.#next.shift();
    }
    return undefined;
  }

  take(now?: number): Upstream | undefined {
    return this.advance(now) && this.#next.shift();
  }

  /** Adds upstreams that were not there at the beginning. */
  add(upstreams: readonly Upstream[]): void {
    const added = upstreams.filter((upstream) => !this.#known.includes(upstream));
    if (added.length === 0) return;
    this.#known = [...this.#known, ...added];
    this.#next.push(...added);
  }

  /** Removes upstreams whose circuit breaker is open: they are not asked for a cross-check. */
  dropOpen(workKind: WorkKind): void {
    const isAsked = ({ health }: Upstream): boolean => health.ofKind(workKind).breaker !== "open";
    this.#next = this.#next.filter(isAsked);
    this.#limited = this.#limited.filter(isAsked);
  }

  /** To be called when the upstream was asked too often. */
  giveBack(upstream: Upstream): void {
    this.#limited.push(upstream);
  }

  get limited(): number {
    return this.#limited.length;
  }

  /** How long until the first upstream without budget has some, in milliseconds. */
  get soonestMs(): number {
    return Math.min(...this.#limited.map((upstream) => this.#waitMs(upstream)));
  }

  /** Puts the upstreams without budget back into the list. */
  comeBack(): void {
    this.#next.push(...this.#limited.splice(0));
  }

  /** An upstream without budget whose limit was only learned, which may be broken. */
  get insistent(): Upstream | undefined {
    const { method } = this.#wanted;
    return this.#limited.find(({ budget }) => budget.mayBeTried(budget.costOf(method)));
  }

  takeLimited(upstream: Upstream): Upstream {
    this.#limited = this.#limited.filter((other) => other !== upstream);
    return upstream;
  }

  #isMissing(upstream: Upstream): boolean {
    const { method, way } = this.#wanted;
    return upstream.isMissing(method) || (way !== undefined && upstream.isMissing(way));
  }

  #waitMs({ budget }: Upstream, now?: number): number {
    return budget.waitMs(budget.costOf(this.#wanted.method), now);
  }
}
