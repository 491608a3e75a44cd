import { describe, expect, it } from "vitest";
import type { Next, State } from "../state/state.ts";
import { decodeFilter } from "./filter-record.ts";
import { encodePushed, PushedRecords, type PushedStep, resumePositionOf } from "./pushed-record.ts";

const block = (number: number, branch = "a") => ({ number, hash: `0x${number}${branch}` });
/** The path down from a block, newest first. */
const pathFrom = (number: number, length: number) =>
  Array.from({ length }, (_, below) => ({
    ...{ hash: block(number - below).hash, parentHash: block(number - below - 1).hash },
    items: [],
  }));
const recordOf = (steps: readonly PushedStep[], kind: "heads" | "blocks" = "blocks") =>
  decodeFilter(
    encodePushed({
      ...{ by: "me", asked: { kind }, holder: "web", usedAtMs: 1, arrived: 2, steps },
    }),
  );

describe("a caller that counts", () => {
  const steps = [
    { count: 2, at: block(10) },
    { count: 5, at: block(11) },
    { count: 6, at: block(12) },
  ];

  it.each([
    [1, "unknown"],
    [2, { steps: steps.slice(0, 1), missing: 0 }],
    [3, { steps: steps.slice(0, 2), missing: 2 }],
    [5, { steps: steps.slice(0, 2), missing: 0 }],
    [6, { steps, missing: 0 }],
    [7, "untold"],
  ])("and received %i", (received, want) => {
    expect(resumePositionOf(recordOf(steps), received)).toEqual(want);
  });

  it("of heads is at a block, where the path there is known", () => {
    const told = [
      { count: 0, at: { ...block(10), path: pathFrom(10, 2) } },
      { count: 3, at: { ...block(13), path: pathFrom(13, 4) } },
    ];
    expect(resumePositionOf(recordOf(told, "heads"), 2)).toEqual({
      steps: [
        { count: 0, at: { ...block(10), path: pathFrom(10, 1) } },
        { count: 2, at: { ...block(12), path: pathFrom(12, 3) } },
      ],
      missing: 0,
    });
  });

  it("stands on a path that is kept once, unless the chain left it", () => {
    const told = [
      { count: 0, at: { ...block(10), path: pathFrom(10, 1) } },
      { count: 1, at: { ...block(10, "b"), path: [] } },
      { count: 2, at: { ...block(11), path: pathFrom(11, 2) } },
    ];
    const { acknowledged: first, unacknowledged } = recordOf(told);
    expect(first).toHaveProperty("path");
    expect(unacknowledged).toEqual([told[1]?.at, told[2]?.at]);
    const two = [told[0], told[2]] as PushedStep[];
    expect(recordOf(two).acknowledged).toEqual(block(10));
    expect(resumePositionOf(recordOf(two), 0)).toEqual({ steps: [told[0]], missing: 0 });
  });
});

describe("records that are written at once", () => {
  const textBy = (by: string): string =>
    encodePushed({
      ...{ by, asked: { kind: "heads" }, holder: "web", usedAtMs: 1, arrived: 0 },
      steps: [{ count: 0, at: block(1) }],
    });

  it("are one step of the state; those that others push stay as they are", async () => {
    const texts = new Map([
      ["mine", textBy("me")],
      ["taken", textBy("you")],
    ]);
    let updates = 0;
    const update = (async (keys: readonly string[], next: Next) => {
      updates += 1;
      const after = next(keys.map((key) => texts.get(key))) ?? [];
      for (const [index, key] of keys.entries()) {
        const text = after[index];
        if (text !== undefined) texts.set(key, text);
      }
      return { isChanged: true, texts: after };
    }) as State["update"];
    const records = new PushedRecords({ state: { update } });
    const write = (key: string): Promise<string> =>
      records.write({ key, by: "me", known: "", text: `${textBy("me")} ` });
    const noted = await Promise.all(["mine", "taken", "gone"].map(write));
    expect(noted).toEqual(["written", "taken over", "gone"]);
    expect(updates).toBe(1);
    expect(texts.get("mine")).toBe(`${textBy("me")} `);
    expect(texts.get("taken")).toBe(textBy("you"));
    expect(texts.has("gone")).toBe(false);
  });

  it("are written beside others that are under way, each record one text after the other", async () => {
    const under: { readonly keys: readonly string[]; readonly end: () => void }[] = [];
    const update = (async (keys: readonly string[], next: Next) => {
      const texts = next(keys.map(() => textBy("me"))) ?? [];
      await new Promise<void>((end) => under.push({ keys, end }));
      return { isChanged: true, texts };
    }) as State["update"];
    const records = new PushedRecords({ state: { update } });
    const turn = (): Promise<void> => new Promise(setImmediate);
    const write = async (key: string): Promise<string> => {
      const noted = records.write({ key, by: "me", known: "", text: textBy("me") });
      await turn();
      return noted;
    };
    const written = [write("one"), write("two"), write("two")];
    await turn();
    written.push(write("one"), write("three"));
    await turn();
    expect(under.map(({ keys }) => keys)).toEqual([["one", "two"], ["three"]]);
    under[0]?.end();
    await turn();
    expect(under.at(-1)?.keys).toEqual(["two", "one"]);
    for (const { end } of under) end();
    expect(await Promise.all(written)).toEqual(Array(5).fill("written"));
  });

  it("fail together while the state is away, and are written after that", async () => {
    let isAway = true;
    const update = (async (_: unknown, next: Next) => {
      if (isAway) throw new Error("away");
      return { isChanged: true, texts: next([textBy("me")]) ?? [] };
    }) as State["update"];
    const records = new PushedRecords({ state: { update } });
    const write = (): Promise<string> =>
      records.write({ key: "mine", by: "me", known: textBy("me"), text: textBy("me") });
    await expect(write()).rejects.toThrow("away");
    isAway = false;
    expect(await write()).toBe("written");
  });
});
