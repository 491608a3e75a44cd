// Who is asked first: the best node, but a new one now and then, and within a batch the one that began it.
import { type MethodGroup, type MethodTraits, traitsFor } from "../../namespaces/known-method.ts";
import type { CallOptions } from "./call-options.ts";
import { inOrder, type RankedUpstream, type Wanted } from "./candidates.ts";

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
    const isTrial = this.#isTrial(traits);
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

  #isTrial({ group, isRepeatable }: MethodTraits): boolean {
    const calls = (this.#callsByGroup.get(group) ?? 0) + 1;
    this.#callsByGroup.set(group, calls);
    return isRepeatable && calls % TRIAL_EVERY === 0;
  }
}
