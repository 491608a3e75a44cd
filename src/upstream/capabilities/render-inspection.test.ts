import { expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import { Capabilities } from "./capabilities.ts";
import { renderInspection } from "./render-inspection.ts";

/** What is told of the states of a node that had that of block 1. */
function stateLine(head: number): string | undefined {
  const { history } = new Capabilities({ clock: systemClock, traitsOf: traitsOf("evm") });
  history.has("state", 1, head);
  const lines = renderInspection("main / a", {
    kind: "usable",
    clientVersion: "Geth/v1",
    chainId: 1,
    head: { number: head, ageSeconds: 1 },
    ...{ has: [], lacks: [], unclear: [] },
    reaches: history.known(),
  });
  return lines.find((line) => line.includes("state of"))?.trim();
}

it.each([
  [57, "state of all 58 blocks so far: the chain is too young to show whether it drops old ones"],
  [
    99_999,
    "state of all 100000 blocks so far: the chain is too young to show whether it drops old ones",
  ],
  [100_000, "state of all blocks"],
])("a node that has the first state of a chain of head %i has the %s", (head, want) => {
  expect(stateLine(head)).toBe(want);
});
