// When the gateway does not believe an answer of one upstream alone, it asks the others too.
import { describe, expect, it } from "vitest";
import {
  DELAY_MS,
  failed,
  lacking,
  refused,
  result,
  scriptedCall,
} from "../../../test/support/scripted-call.ts";
import { LOST_RACE } from "../node-requests.ts";
import type { Reply } from "../reply.ts";

const isNull = (reply: Reply): boolean => reply.kind === "result" && String(reply.json) === "null";
const crossChecksNull = { options: { crossCheck: { name: "null", isUncertain: isNull } } };
/** How long a call waits for upstreams that may have the data which another one lacks. */
const LACK_TIMEOUT_MS = 1_000;

describe("an answer that one node alone is not believed in", () => {
  it("counts when the others say the same", async () => {
    const { log, outcome, left, idle } = scriptedCall(
      [{ says: [result("null")] }, { says: [result("null")] }],
      crossChecksNull,
    );
    await outcome;
    expect(log).toEqual(["0 a", "answered in 0", "cross-check", "0 b", "answered in 0", "null"]);
    expect(left()).toEqual(idle);
  });

  it("loses to a better one", async () => {
    const { log, clock, answer } = scriptedCall(
      [{ says: [result("null")] }, {}, {}],
      crossChecksNull,
    );
    await clock.advance(0);
    await answer("b", result("2"));
    expect(log.slice(2)).toEqual(["cross-check", "0 b", "answered in 0", "2"]);
  });

  it("counts when the others fail, the first one that was given", async () => {
    const { log, outcome } = scriptedCall(
      [{ says: [lacking] }, { says: [failed] }, { says: [result("null")] }],
      crossChecksNull,
    );
    await outcome;
    expect(log.at(-1)).toBe("refused: missing trie node");
  });

  it.each(["null", "[]"])("is also %s of a node that lags, whatever the call", async (nothing) => {
    const nodes = [{ isBehind: true, says: [result(nothing)] }, { says: [result("2")] }];
    const { log, outcome } = scriptedCall(nodes, {});
    await outcome;
    expect(log.at(-1)).toBe("2");
  });

  it("is also something uncertain, where the first answer was nothing", async () => {
    const doubtsAll = { options: { crossCheck: { name: "all", isUncertain: () => true } } };
    const nodes = [{ says: [result("[]")] }, { says: [result("[7]")] }];
    const { log, outcome } = scriptedCall(nodes, doubtsAll);
    await outcome;
    expect(log.at(-1)).toBe("[7]");
  });

  it("does not count instead of that of a node that lags, when the better ones fail", async () => {
    const nodes = [{}, {}, { isBehind: true, says: [result("3")] }];
    const { log, clock, answer } = scriptedCall(nodes, crossChecksNull);
    await clock.advance(DELAY_MS);
    await answer("b", result("null"));
    await answer("a", failed);
    expect(log.at(-1)).toBe("3");
  });

  it.each([
    { of: "a node that lags", last: result("3"), want: "3" },
    {
      of: "a node that lags, also where it is a refusal",
      last: refused,
      want: "refused: execution reverted",
    },
  ])("lets that of $of wait no longer than itself: two seconds in all", async ({ last, want }) => {
    const nodes = [{ hasReplied: true }, { hasReplied: true }, { isBehind: true }];
    const { log, clock, answer } = scriptedCall(nodes, crossChecksNull);
    await clock.advance(DELAY_MS);
    await answer("b", result("null"));
    await clock.advance(DELAY_MS);
    await answer("c", last);
    const then = log.length;
    while (log.length === then) await clock.advance(DELAY_MS);
    expect([clock.now() <= DELAY_MS + 2_000 + 4 * DELAY_MS, log.at(-1)]).toEqual([true, want]);
  });

  it("counts when nobody gives a better one in four times as long as calls take", async () => {
    const { log, aborted, clock, left, idle } = scriptedCall([{ says: [result("null")] }, {}, {}], {
      ...crossChecksNull,
      mayHedge: false,
    });
    await clock.advance(0);
    await clock.advance(4 * DELAY_MS - 1);
    expect(log.slice(2)).toEqual(["cross-check", "0 b"]);
    await clock.advance(1);
    expect(log.at(-1)).toBe("null");
    await clock.advance(1_000);
    expect(aborted).toEqual([LOST_RACE]);
    expect(left()).toEqual(idle);
  });

  it("counts after a while also when some fail that are asked for a better one, and others hang", async () => {
    const nodes = [{ says: [result("null")] }, { says: [failed] }, {}, {}];
    const { log, clock } = scriptedCall(nodes, { ...crossChecksNull, mayHedge: false });
    await clock.advance(0);
    await clock.advance(4 * DELAY_MS);
    expect(log.at(-1)).toBe("null");
  });

  it("counts after two seconds however slow such calls are", async () => {
    const nodes = [{ says: [result("null")] }, { hasReplied: true }];
    const { log, clock } = scriptedCall(nodes, { ...crossChecksNull, hedgeDelayMs: 2_000 });
    await clock.advance(0);
    await clock.advance(1_999);
    expect(log.slice(2)).toEqual(["cross-check", "0 b"]);
    await clock.advance(1);
    expect(log.at(-1)).toBe("null");
  });

  it.each([
    { node: "that answers others", hasReplied: true, ends: 2_050 },
    { node: "that says nothing", hasReplied: false, ends: 250 },
  ])(
    "counts $ends ms after the call, when a better one was first asked, $node",
    async ({ hasReplied, ends }) => {
      const { log, clock, answer } = scriptedCall([{ hasReplied }, {}], crossChecksNull);
      await clock.advance(DELAY_MS);
      await answer("b", result("null"));
      const then = log.length;
      while (log.length === then) await clock.advance(DELAY_MS);
      expect([clock.now(), log.at(-1)]).toEqual([ends, "null"]);
    },
  );

  it("that says what a node lacks is not believed while others work that answer at all", async () => {
    const { log, clock, answer } = scriptedCall([{ says: [lacking] }, { hasReplied: true }]);
    await clock.advance(0);
    for (let count = 0; count < 100; count += 1) await clock.advance(4 * DELAY_MS);
    expect(log).toEqual(["0 a", "cross-check", "0 b"]);
    await answer("b", result("2"));
    expect(log.at(-1)).toBe("2");
  });

  it("that says what a node lacks counts when all others are silent for a while", async () => {
    const { log, clock } = scriptedCall([{ says: [lacking] }, {}]);
    await clock.advance(0);
    await clock.advance(LACK_TIMEOUT_MS - 1);
    expect(log).toEqual(["0 a", "cross-check", "0 b"]);
    await clock.advance(1);
    expect(log.at(-1)).toBe("refused: missing trie node");
  });

  it("that says what a node lacks counts also when the other one hangs that had no budget first", async () => {
    const { log, clock } = scriptedCall([{ says: [lacking] }, { waitMs: 300 }]);
    await clock.advance(0);
    for (let count = 0; count < 100; count += 1) await clock.advance(DELAY_MS);
    expect(log.slice(-2)).toEqual(["300 b", "refused: missing trie node"]);
  });

  it("is not checked with nodes that were given up", async () => {
    const { log, outcome } = scriptedCall(
      [
        { says: [result("null")] },
        { breaker: "open" },
        { says: [result("3")] },
        { breaker: "open" },
      ],
      crossChecksNull,
    );
    await outcome;
    expect(log).toEqual(["0 a", "answered in 0", "cross-check", "0 c", "answered in 0", "3"]);
  });

  it("is checked with a node that has no budget once it has, when that is soon", async () => {
    const nodes = [{ says: [result("null")] }, { waitMs: 100 }];
    const { log, clock, answer } = scriptedCall(nodes, crossChecksNull);
    await clock.advance(0);
    await clock.advance(100);
    await answer("b", result("2"));
    expect(log.slice(2)).toEqual(["100 b", "answered in 0", "2"]);
  });

  it("counts at once when nobody has budget soon", async () => {
    const nodes = [
      { says: [result("null")] },
      { waitMs: 4 * DELAY_MS + 1, mayExceedLearnedLimit: true },
    ];
    const { log, outcome, left, idle } = scriptedCall(nodes, crossChecksNull);
    await outcome;
    expect(log.slice(2)).toEqual(["null"]);
    expect(left()).toEqual(idle);
  });

  it("is checked with the node that is asked already", async () => {
    const { log, clock, answer } = scriptedCall([{}, {}], crossChecksNull);
    await clock.advance(DELAY_MS);
    await answer("b", result("null"));
    await answer("a", result("1"));
    expect(log.at(-1)).toBe("1");
  });
});
