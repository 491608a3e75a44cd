import type { Logger } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { Drains } from "./drains.ts";

const by = { who: "admin", from: "10.0.0.1" };
const own = { network: "main", upstream: "own" };
let state: MemoryState;
let clock: FakeClock;
const logged: [string, object][] = [];

const note = (about: object, text: string): void => void logged.push([text, about]);
const log = { info: note, warn: note } as Pick<Logger, "info" | "warn">;
const opened = () => new Drains({ state, clock, log });

beforeEach(() => {
  state = new MemoryState();
  clock = new FakeClock();
  logged.length = 0;
});

describe("drains", () => {
  it("outlive who made them, are told at the end and at the next start, and end when somebody says so", async () => {
    const before = opened();
    await before.start();
    before.tellAtStart();
    expect(logged).toEqual([]);
    expect(await before.set({ ...own, isDrained: true }, by)).toEqual({ isKept: true });
    before.tellAtEnd();
    before.close();
    const next = opened();
    await next.start();
    const at = expect.stringMatching(/Z$/);
    expect(next.of("main")).toEqual(new Map([["own", { ...by, at }]]));
    expect([next.has(own), next.has({ ...own, network: "other" })]).toEqual([true, false]);
    next.tellAtStart();
    const nodes = [expect.stringMatching(/^main\/own, by admin at .*Z$/)];
    expect(logged).toEqual([
      ["nodes stay drained, also after the next start", { nodes }],
      [expect.stringMatching(/^nodes were drained before this start/), { nodes }],
    ]);
    await next.set({ ...own, isDrained: false }, by);
    expect(next.has(own)).toBe(false);
  });

  it("are known to all over the state within a moment, while it is away as they were", async () => {
    const [one, other] = [opened(), opened()];
    await Promise.all([one.start(), other.start()]);
    let changes = 0;
    other.onChange(() => {
      changes += 1;
    });
    await one.set({ ...own, isDrained: true }, by);
    await one.set({ ...own, upstream: "b", isDrained: true }, { ...by, who: "ci" });
    await clock.advance(250);
    expect([...other.of("main")].map(([name, { who }]) => [name, who])).toEqual([
      ["own", "admin"],
      ["b", "ci"],
    ]);
    state.isAway = true;
    await clock.advance(1_000);
    expect(other.has(own)).toBe(true);
    state.isAway = false;
    await one.set({ ...own, isDrained: false }, by);
    await clock.advance(250);
    expect([other.has(own), changes]).toEqual([false, 2]);
  });

  it("keep who did it first, and forget the oldest beyond a bound", async () => {
    const drains = opened();
    for (let count = 0; count <= 1_000; count += 1)
      await drains.set({ network: "main", upstream: `n${count}`, isDrained: true }, by);
    await drains.set({ network: "main", upstream: "n7", isDrained: true }, { ...by, who: "late" });
    const all = drains.of("main");
    expect([all.size, all.has("n0"), all.get("n7")?.who]).toEqual([1_000, false, "admin"]);
  });

  it.each(["{", '{"nodes":[]}', "null"])("are none in what nobody can read: %s", async (text) => {
    state.texts.set("drains nodes", text);
    const drains = opened();
    await drains.start();
    expect(drains.of("main").size).toBe(0);
  });
});
