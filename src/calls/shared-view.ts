// The chain and its head as one call sees them, or all members of one batch.
import type { ChainView } from "../chain/chain-view.ts";
import type { HeadView } from "../methods/method.ts";
import type { Session } from "../upstream/asking/call-options.ts";
import type { Caller } from "./caller.ts";

/** What the members of a batch share: the chain as it was when the first of them looked. */
export type SharedView = {
  readonly head: HeadView;
  readonly chain: ChainView | undefined;
  /** One node for all that asks for a tag: what is latest is told by each node for itself. */
  readonly session: Session | undefined;
};

/** The chain and its head as they are now. @param isShared For all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const chain = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (!chain) {
    const signal = (): AbortSignal => scope.signal();
    const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
    return { head, chain, session };
  }
  const head = {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
  return { head, chain, session };
}
