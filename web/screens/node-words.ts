// Texts about a node. Pure.
import type { LiveNode } from "./overview-figures.ts";

/** Whether no other node of the network could take this node's calls. */
export const isLastUsable = (node: LiveNode, all: readonly LiveNode[]): boolean =>
  all.every((other) => other.upstream === node.upstream || !other.isUsable || other.isDrained);

/** How far back a node reaches, one text for each kind of data. */
export function reachTexts({ reaches = {} }: Pick<LiveNode, "reaches">): readonly string[] {
  return Object.entries(reaches).map(([what, reach]) =>
    reach === "all"
      ? `${what}: all blocks`
      : `${what}: the newest ${Number(reach).toLocaleString()} blocks`,
  );
}
