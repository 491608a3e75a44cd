// Which nodes may have a call, and in which order: the best one is first, but a new one now and then, and within
// a batch the one that began it.
import { type MethodGroup, type MethodTraits, traitsFor } from "../../namespaces/known-method.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions } from "./call-options.ts";
import { type Candidate, rank, withTrial } from "./ranking.ts";

/** One call in so many goes to a node that is new or recovered. */
const TRIAL_EVERY = 16;
/** By which the chain is followed; of other families by others of the same price. */
const WHOLE_BLOCKS = {
  method: "eth_getBlockByNumber",
  traits: traitsFor("read", { group: "blocks" }),
};

export class NodeOrder {
  readonly #callsByGroup = new Map<MethodGroup, number>();
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
      ({ name, health }) => name === session.node && health.group(traits.group).breaker !== "open",
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
  #count({ group }: MethodTraits): number {
    const calls = (this.#callsByGroup.get(group) ?? 0) + 1;
    this.#callsByGroup.set(group, calls);
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
  const { breaker, errorRate, meanMs, isUntried } = node.health.group(traits.group);
  const place = block === undefined || head === undefined ? undefined : { block, head };
  return {
    name: node.name,
    breaker,
    waitMs: node.budget.waitMs(node.budget.costOf(method)),
    isLacking: place !== undefined && node.capabilities.isLacking(traits.group, place),
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
