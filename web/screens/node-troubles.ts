// What is the matter with a node, in words. Pure.
import type { Tone } from "../components/figure.tsx";
import { figureText, secondsText } from "../lib/format.ts";
import type { LiveNode } from "./overview-figures.ts";

export type Trouble = { readonly text: string; readonly tone: Tone };

/** The worst first; empty: it does well. */
export function troublesOf(node: LiveNode): readonly Trouble[] {
  const { isUsable, isDrained, isElsewhere, groups, budget, caught } = node;
  const groupsWith = (state: "open" | "half-open"): string =>
    groups
      .filter(({ breaker }) => breaker === state)
      .map(({ group }) => group)
      .join(", ");
  const [open, tried] = [groupsWith("open"), groupsWith("half-open")];
  const all: readonly (Trouble | false | "")[] = [
    !isUsable && { text: "Unusable", tone: "bad" },
    isElsewhere && { text: "On another branch", tone: "bad" },
    open && { text: `Given up for ${open}`, tone: "bad" },
    tried && { text: `Tried again for ${tried}`, tone: "warn" },
    node.failedPerSecond > 0 && {
      text: `Failing ${figureText(node.failedPerSecond)}/s`,
      tone: "bad",
    },
    budget.pausedForMs > 0 && {
      text: `Paused for ${secondsText(budget.pausedForMs / 1_000)}`,
      tone: "warn",
    },
    caught.lies > 0 && { text: counted(caught.lies, "false answer"), tone: "bad" },
    caught.proofFailures > 0 && {
      text: counted(caught.proofFailures, "failed proof"),
      tone: "bad",
    },
    caught.dissents > 0 && { text: counted(caught.dissents, "disagreement"), tone: "warn" },
    isDrained && { text: "Drained", tone: "plain" },
  ];
  return all.filter((each) => each !== false && each !== "");
}

const counted = (count: number, what: string): string =>
  `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;

/** Whether no other node of the network could take this one's calls. */
export const isLastUsable = (node: LiveNode, all: readonly LiveNode[]): boolean =>
  all.every((other) => other.upstream === node.upstream || !other.isUsable || other.isDrained);

/** How far back a node reaches, a few words each. */
export function reachTexts({ reaches = {} }: Pick<LiveNode, "reaches">): readonly string[] {
  return Object.entries(reaches).map(([what, reach]) =>
    reach === "all"
      ? `${what}: all blocks`
      : `${what}: the newest ${Number(reach).toLocaleString()} blocks`,
  );
}
