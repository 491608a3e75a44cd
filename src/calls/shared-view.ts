// The chain and its head as one call sees them, or all members of one batch.
import type { ChainView } from "../chain/chain-view.ts";
import type { Staleness } from "../chain/freshness.ts";
import type { HeadView } from "../methods/method.ts";
import type { Session } from "../upstream/asking/call-options.ts";
import type { Caller } from "./caller.ts";

/** What the members of a batch share: the chain as it was when the first of them looked. */
export type SharedView = {
  readonly head: HeadView;
  /** undefined, too, where the nodes may be further: then they are asked. */
  readonly chain: ChainView | undefined;
  /** The chain as it was when it was the newest, for what is asked of the past. */
  readonly past?: { readonly head: HeadView; readonly chain: ChainView };
  readonly staleness?: Staleness | undefined;
  /** One node for all that asks for a tag: what is latest is told by each node for itself. */
  readonly session: Session | undefined;
};

/** The chain and its head as they are now. @param isShared For all members of a batch. */
export function viewOf({ network, scope }: Caller, isShared = false): SharedView {
  const view = network.chain?.view(isShared);
  const session = isShared ? { node: undefined } : undefined;
  if (view && !view.isBehind) {
    const { staleness } = view;
    return { head: headOf(view, scope), chain: view, session, staleness };
  }
  const signal = (): AbortSignal => scope.signal();
  const head = isShared ? network.head.batchView(signal) : network.head.loneView(signal);
  const asked = { head, chain: undefined, session };
  if (!view) return asked;
  const past = { head: headOf(view, scope), chain: view };
  return { ...asked, past, staleness: view.staleness };
}

function headOf(chain: ChainView, scope: Caller["scope"]): HeadView {
  return {
    latest: () => chain.latest(),
    atLeast: (number: number) => chain.atLeast(number, scope.signal()),
    pin: <Reference>(reference: Reference) => chain.pin(reference),
  };
}
