// What is the matter with a node, in words. Pure.
import type { Tone } from "../components/figure.tsx";
import { secondsText } from "../lib/format.ts";
import type { LiveNode } from "./overview-figures.ts";

export type Trouble = { readonly text: string; readonly tone: Tone };

/** The worst first; empty: it does well. */
export function troublesOf(node: LiveNode): readonly Trouble[] {
  const { isUsable, isElsewhere, groups, budget, caught } = node;
  const groupsWith = (state: "open" | "half-open"): string =>
    groups
      .filter(({ breaker }) => breaker === state)
      .map(({ group }) => group)
      .join(", ");
  const [open, tried] = [groupsWith("open"), groupsWith("half-open")];
  const all: readonly (Trouble | false | "")[] = [
    !isUsable && { text: "Kept out", tone: "bad" },
    isElsewhere && { text: "On another branch", tone: "bad" },
    open && { text: `Given up for ${open}`, tone: "bad" },
    tried && { text: `Tried again for ${tried}`, tone: "warn" },
    budget.pausedForMs > 0 && {
      text: `Paused for ${secondsText(budget.pausedForMs / 1_000)}`,
      tone: "warn",
    },
    caught.lies > 0 && { text: `${caught.lies} false answers`, tone: "bad" },
    caught.proofFailures > 0 && { text: `${caught.proofFailures} failed proofs`, tone: "bad" },
    caught.dissents > 0 && { text: `${caught.dissents} disagreements`, tone: "warn" },
  ];
  return all.filter((each) => each !== false && each !== "");
}
