import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type HurriedAsker, NodeTurns } from "./node-turns.ts";

const never = new AbortController().signal;
const asker = (holder: string, remainingMs = 30_000, client = "c"): HurriedAsker => ({
  ...{ holder, client, weight: 1, remainingMs },
});

/** What began, in order; `end` gives a turn back after so long. */
function turnsOf(slots: number) {
  const clock = new FakeClock();
  const turns = new NodeTurns({ slots }, { clock });
  const begun: string[] = [];
  const begin = async (own: HurriedAsker, signal = never): Promise<unknown> => {
    const turn = turns.begin(own, signal);
    const none = turn instanceof Promise ? await turn : turn;
    if (!none) begun.push(own.holder);
    return none?.kind;
  };
  const end = async (holder: string, ms = 200, isCutOff = false): Promise<void> => {
    turns.end(asker(holder), { sentAtMs: clock.now() - ms, isCutOff });
    await Promise.resolve();
    await Promise.resolve();
  };
  return { clock, turns, begun, begin, end };
}

describe("turns at a node", () => {
  it("are taken at once while there are slots, without a promise", () => {
    const { turns } = turnsOf(2);
    expect([turns.begin(asker("a"), never), turns.begin(asker("a"), never)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(turns.begin(asker("a"), never)).toBeInstanceOf(Promise);
    expect(turns.waiting).toBe(1);
  });

  it("are shared between keys, though one came with everything before", async () => {
    const { begun, begin, end } = turnsOf(2);
    for (let index = 0; index < 50; index += 1) void begin(asker("a"));
    void begin(asker("b"));
    for (let index = 0; index < 3; index += 1) await end("a");
    expect(begun.slice(2)).toContain("b");
  });

  it("are kept for keys of which the node has nothing: slow work does not hold all", async () => {
    const { begun, begin, end, turns } = turnsOf(16);
    for (let index = 0; index < 50; index += 1) void begin(asker("a"));
    expect(begun).toHaveLength(14);
    expect(await begin(asker("b"))).toBeUndefined();
    expect(await begin(asker("c"))).toBeUndefined();
    expect(begun.slice(14)).toEqual(["b", "c"]);
    await end("b");
    expect(begun).toHaveLength(16);
    await end("a");
    await end("a");
    expect(begun).toHaveLength(17);
    expect(turns.waiting).toBe(35);
  });

  it("are refused where they would come too late, and told how long they take", async () => {
    const { begin, end, turns } = turnsOf(1);
    await begin(asker("a"));
    void begin(asker("a"));
    await end("a", 1_000);
    for (let index = 0; index < 4; index += 1) void begin(asker("a"));
    expect(turns.begin(asker("a", 3_000), never)).toEqual({ kind: "late", waitMs: 4_000 });
    expect(turns.begin(asker("b", 3_000), never)).toBeInstanceOf(Promise);
  });

  it.each([
    { what: "say nothing, where they took less than others", ms: 1, waitMs: 3_000 },
    { what: "count, where they took longer than others", ms: 11_000, waitMs: 6_000 },
  ])("that nobody waited for to the end $what", async ({ ms, waitMs }) => {
    const { begin, end, turns } = turnsOf(1);
    for (let index = 0; index < 6; index += 1) void begin(asker("a"));
    await end("a", 1_000);
    await end("a", ms, true);
    expect(turns.begin(asker("a", 10), never)).toEqual({ kind: "late", waitMs });
  });

  it("are refused beyond so many of a caller, and of a key", async () => {
    const { begin } = turnsOf(1);
    for (let index = 0; index <= 2_000; index += 1) void begin(asker("a"));
    expect(await begin(asker("a"))).toBe("full");
    for (let index = 0; index < 2_000; index += 1) void begin(asker("a", 30_000, "d"));
    expect(await begin(asker("a", 30_000, "e"))).toBe("full");
    void begin(asker("b"));
  });

  it("are not waited for any more when the caller leaves", async () => {
    const { begun, begin, end, turns } = turnsOf(1);
    await begin(asker("a"));
    const caller = new AbortController();
    const left = begin(asker("b"), caller.signal);
    void begin(asker("c"));
    caller.abort();
    expect(await left).toBe("left");
    expect(turns.waiting).toBe(1);
    await end("a");
    expect(begun).toEqual(["a", "c"]);
    expect(await begin(asker("d"), caller.signal)).toBe("left");
  });
});
