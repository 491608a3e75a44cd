// Which nodes may be sent a transaction: one that is sent to a private node shall be seen nowhere else.
import type { Upstream } from "../upstream.ts";

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
