import { describe, expect, it } from "vitest";
import { History } from "./history.ts";

const HEAD = 10_000;

/** What is known after answers such as "has 9000" and "lacks 1", at a head of 10,000. */
function historyAfter(...answers: readonly string[]): History {
  const history = new History({ onChange: () => undefined });
  for (const answer of answers) {
    const [kind, block] = answer.split(" ");
    history[kind as "has" | "lacks"]("state", Number(block), HEAD);
  }
  return history;
}

const part = { kind: "part", since: undefined };

describe("how far back a node reaches", () => {
  it.each([
    { after: [], want: { kind: "unknown" } },
    { after: ["has 10000"], want: { kind: "unknown" } },
    { after: ["has 1"], want: { kind: "all" } },
    { after: ["lacks 1"], want: { ...part, newest: 0, atMost: 9999, notAt: 1 } },
    {
      after: ["lacks 1", "has 9000"],
      want: { ...part, newest: 1001, atMost: 9999, since: 9000, notAt: 1 },
    },
    {
      after: ["lacks 9872", "has 9873"],
      want: { ...part, newest: 128, atMost: 128, since: 9873, notAt: 9872 },
    },
    { after: ["lacks 1", "has 1"], want: { kind: "all" } }, // it was synchronised anew
    { after: ["has 1", "lacks 1"], want: { ...part, newest: 0, atMost: 9999, notAt: 1 } },
    {
      after: ["lacks 1", "has 2"],
      want: { ...part, newest: 9999, atMost: 9999, since: 2, notAt: 1 },
    },
  ])("after $after is $want", ({ after, want }) => {
    expect(historyAfter(...after).known().state).toEqual(want);
  });

  it("is the same after it was written and read", () => {
    const history = historyAfter("lacks 1", "has 9000");
    const again = new History({ onChange: () => undefined });
    again.restore(JSON.parse(JSON.stringify(history.toRecord())));
    expect(again.known()).toEqual(history.known());
    expect(again.isLacking("state", 1, HEAD)).toBe(true);
    expect(again.isLacking("state", 2, HEAD)).toBe(false);
    expect(again.isLacking("state", 5_000, HEAD + 5_000)).toBe(true); // as far behind as block 1 was
  });

  it("is news when it is, and not again", () => {
    let news = 0;
    const onChange = (): void => {
      news += 1;
    };
    const history = new History({ onChange });
    for (let block = 100; block < 110; block += 1) history.has("state", block, block);
    expect(news).toBe(1);
    for (let times = 0; times < 3; times += 1) history.lacks("state", 7, 110);
    expect(news).toBe(2);
  });
});
