// Which upstreams may have a call, and in which order: the best one is first, but a new one now and then, and within
// a batch the one that began it (`rank` decides, purely); and those that are left for a call that goes on.
import { type MethodTraits, traitsFor, type WorkKind } from "../../namespaces/known-method.ts";
import type { Breaker } from "../health/health.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions } from "./call-options.ts";

/** One call in so many goes to a node that is new or recovered. */
const TRIAL_EVERY = 16;
/** By which the chain is followed; of other families by others of the same price. */
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

  /** @param nodes Those that may be asked now, in the order of the configuration. */
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

  /** For those who read whole blocks one after the other. */
  forBlocks<Node extends RankedUpstream>(nodes: readonly Node[]): readonly Node[] {
    return inOrder(nodes, {
      ...{ ...WHOLE_BLOCKS, toleratedLag: this.#toleratedLag },
      ...{ block: undefined, reaches: undefined, isTrial: false },
    });
  }

  /** @returns The number of this call, among those for such work. */
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
  /** The number of the block that the call speaks of. */
  readonly block: number | undefined;
  /** See `CallOptions`. */
  readonly reaches: number | undefined;
  /** So many blocks behind the best node count as none. */
  readonly toleratedLag: number;
  /** A node that is new or recovered may have this one. */
  readonly isTrial: boolean;
};

/** Best first. What one node alone has is looked for in the order of the configuration. */
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

/** The highest head that a node on the followed chain told of. */
export function headOf(
  nodes: readonly Pick<Upstream, "head" | "isElsewhere">[],
): number | undefined {
  let highest: number | undefined;
  for (const { head, isElsewhere } of nodes)
    if (head && !isElsewhere) highest = Math.max(highest ?? 0, head.number);
  return highest;
}

/** Whether a node lags as it counts for calls that speak of no block. */
export const isBehind = (
  node: Pick<Upstream, "head" | "isElsewhere">,
  network: { readonly head: number | undefined; readonly toleratedLag: number },
): boolean => lagOf(node, { reaches: undefined, ...network }) > 0;

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
    lag: lagOf(node, { reaches, head, toleratedLag }),
    errorRate,
    meanMs,
    inFlight: node.health.inFlight + node.turns.waiting,
    weight: node.options.weight,
    price: node.options.price,
    isUntried,
  };
}

type Need = { reaches: number | undefined; head: number | undefined; toleratedLag: number };

function lagOf(
  { head: own, isElsewhere }: Pick<Upstream, "head" | "isElsewhere">,
  { reaches, head, toleratedLag }: Need,
): number {
  if (isElsewhere) return Number.POSITIVE_INFINITY;
  if (!own || head === undefined) return 0; // nobody knows
  if (reaches !== undefined) return Math.max(0, reaches - own.number);
  const lag = head - own.number;
  return lag <= toleratedLag ? 0 : lag;
}

type Taker = { readonly options: Pick<Upstream["options"], "isPrivate"> };

/**
 * @param usable Those that may be asked now.
 * @param all Those of the network: while its private nodes are away, others are no substitute.
 * @param broadcast To how many it is sent; undefined: nobody wants it to be everywhere.
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

type WantedMethod = {
  readonly method: string;
  /** The one of several ways to call it. */
  readonly way: string | undefined;
};

/**
 * The upstreams that a call may still go to, in order: those that lack the method are passed over, those without
 * budget come back when they have some.
 */
export class CandidateList {
  /** How many lack the method. */
  missing = 0;
  #next: Upstream[];
  /** Those that have no budget now. */
  #limited: Upstream[] = [];
  /** All that were ever here. */
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

  /** Passes over those in front that cannot be asked now. @returns The first that can; it stays. */
  advance(): Upstream | undefined {
    for (let first = this.#next[0]; first; first = this.#next[0]) {
      if (this.#isMissing(first)) this.missing += 1;
      else if (this.#waitMs(first) > 0) this.#limited.push(first);
      else return first;
      this.#next.shift();
    }
    return undefined;
  }

  take(): Upstream | undefined {
    return this.advance() && this.#next.shift();
  }

  /** Upstreams that were not there at the beginning. */
  add(upstreams: readonly Upstream[]): void {
    const added = upstreams.filter((upstream) => !this.#known.includes(upstream));
    if (added.length === 0) return;
    this.#known = [...this.#known, ...added];
    this.#next.push(...added);
  }

  /** Those whose circuit breaker is open are not asked for a cross-check. */
  dropOpen(workKind: WorkKind): void {
    const isAsked = ({ health }: Upstream): boolean => health.ofKind(workKind).breaker !== "open";
    this.#next = this.#next.filter(isAsked);
    this.#limited = this.#limited.filter(isAsked);
  }

  /** It was asked too often. */
  giveBack(upstream: Upstream): void {
    this.#limited.push(upstream);
  }

  get limited(): number {
    return this.#limited.length;
  }

  /** How long until the first of those without budget has some, in milliseconds. */
  get soonestMs(): number {
    return Math.min(...this.#limited.map((upstream) => this.#waitMs(upstream)));
  }

  /** Those without budget are next again. */
  comeBack(): void {
    this.#next.push(...this.#limited.splice(0));
  }

  /** One without budget that never told its limit: this is only what it was found to take. */
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

  #waitMs({ budget }: Upstream): number {
    return budget.waitMs(budget.costOf(this.#wanted.method));
  }
}
