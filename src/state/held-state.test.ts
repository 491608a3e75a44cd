import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { HeldState, type HeldTexts, MOST_HELD } from "./held-state.ts";
import type { Next, UpdateOptions } from "./state.ts";

/** A state on a disk that may be full; the stored texts stay readable. */
class FullState extends MemoryState {
  isFull = false;
  override async update(keys: readonly string[], next: Next, options?: UpdateOptions) {
    if (this.isFull) throw errors.stateNotWritable("no space is left on the disk");
    return super.update(keys, next, options);
  }
}

const urgent = { isUrgent: true };
let disk: FullState;
let clock: FakeClock;
let state: HeldState;
let told: HeldTexts[];
const logged: object[] = [];

beforeEach(() => {
  disk = new FullState();
  clock = new FakeClock();
  told = [];
  logged.length = 0;
  state = opened();
});

const note = (about: object | string, text?: string): void =>
  void logged.push(typeof about === "string" ? { text: about } : { ...about, text });
const log = { info: note, warn: note, error: note };
const opened = () => new HeldState(disk, { clock, log, onChange: (held) => void told.push(held) });

const adding =
  (word: string): Next =>
  ([text = ""]) => [`${text}${word}`];

describe("an urgent change", () => {
  it("is an ordinary one while the state can be written", async () => {
    const updated = await state.update(["a x"], adding("1"), urgent);
    expect(updated).toEqual({ isChanged: true, texts: ["1"] });
    expect(disk.texts.get("a x")).toBe("1");
    expect([told, logged]).toEqual([[], []]);
  });

  it("holds at once for whoever reads, and is kept when there is room, over what came meanwhile", async () => {
    disk.texts.set("a x", "0").set("a y", "y");
    disk.isFull = true;
    expect(await state.update(["a x"], adding("1"), urgent)).toEqual({
      ...{ isChanged: true, texts: ["01"] },
    });
    await state.update(["a x"], adding("2"), urgent);
    expect([await state.get("a x"), await state.get("a y")]).toEqual(["012", "y"]);
    expect(await state.list("a ")).toEqual([
      { key: "a x", text: "012" },
      { key: "a y", text: "y" },
    ]);
    expect([state.isHeld("a x"), state.isHeld("a y")]).toEqual([true, false]);
    expect(told.at(-1)).toEqual(new Map([["a x", "012"]]));
    expect(logged[0]).toMatchObject({
      change: "a x",
      reason: expect.stringContaining("no space is left"),
    });
    await clock.advance(5_000);
    expect(state.isHeld("a x")).toBe(true); // the attempts to write failed
    disk.texts.set("a x", "other");
    disk.isFull = false;
    await clock.advance(1_000);
    expect(disk.texts.get("a x")).toBe("other12");
    expect([await state.get("a x"), state.isHeld("a x")]).toEqual(["other12", false]);
    expect(told.at(-1)).toEqual(new Map());
  });

  it("that others make does not get in each other's way", async () => {
    disk.isFull = true;
    await Promise.all([..."abc"].map((word) => state.update(["a x"], adding(word), urgent)));
    expect([...((await state.get("a x")) ?? "")].sort()).toEqual(["a", "b", "c"]);
  });

  it("that changes nothing is not held, and others are refused as ever", async () => {
    disk.isFull = true;
    expect(await state.update(["a x"], () => undefined, urgent)).toMatchObject({
      isChanged: false,
    });
    await expect(state.update(["a x"], adding("1"))).rejects.toThrow("no space is left");
    expect(told).toEqual([]);
  });

  it("stays before what is changed later in the same place", async () => {
    disk.isFull = true;
    const both =
      (word: string): Next =>
      ([text = "", version = ""]) => [text + word, version + word];
    await state.update(["a x", "a version"], both("1"), urgent);
    await expect(state.update(["a y", "a version"], both("2"))).rejects.toThrow("no space is left");
    expect(await state.get("a version")).toBe("1");
    disk.isFull = false;
    expect(await state.update(["a x", "a version"], both("3"))).toMatchObject({
      texts: ["13", "13"],
    });
    expect([disk.texts.get("a x"), state.isHeld("a x")]).toEqual(["13", false]);
    await clock.advance(5_000);
    expect(disk.texts.get("a x")).toBe("13");
  });

  it("is kept within a second of there being room, however many follow", async () => {
    disk.isFull = true;
    await state.update(["a x"], adding("1"), urgent);
    disk.isFull = false;
    for (let count = 0; count < 3; count += 1) {
      await state.update(["a x"], adding("2"), urgent);
      await clock.advance(400);
    }
    expect(disk.texts.get("a x")).toBe("1222");
  });

  it("is refused where nothing can be read either, and beyond a bound", async () => {
    disk.isFull = true;
    for (let count = 0; count < MOST_HELD; count += 1)
      await state.update([`a ${count}`], adding("1"), urgent);
    await expect(state.update(["a more"], adding("1"), urgent)).rejects.toThrow();
    expect(state.isHeld("a more")).toBe(false);
    const away = new HeldState(
      Object.assign(new MemoryState(), {
        update: () => Promise.reject(errors.stateUnavailable()),
        get: () => Promise.reject(errors.stateUnavailable()),
      }),
      { clock, log },
    );
    await expect(away.update(["a x"], adding("1"), urgent)).rejects.toThrow("cannot be reached");
  });

  it("is kept at the end, or said to be lost", async () => {
    disk.isFull = true;
    await state.update(["a x"], adding("1"), urgent);
    disk.isFull = false;
    await state.close();
    expect(disk.texts.get("a x")).toBe("1");

    const next = opened();
    disk.isFull = true;
    await next.update(["a x"], adding("2"), urgent);
    await next.close();
    expect(disk.texts.get("a x")).toBe("1");
    expect(logged.at(-1)).toMatchObject({
      changes: ["a x"],
      text: expect.stringContaining("have to be made again"),
    });
  });
});

describe("what another process holds", () => {
  it("is shown, and told", async () => {
    disk.texts.set("a x", "0").set("a y", "1");
    state.show(
      new Map([
        ["a x", "1"],
        ["a y", undefined],
      ]),
    );
    expect([await state.get("a x"), await state.get("a y")]).toEqual(["1", undefined]);
    expect(await state.list("a ")).toEqual([{ key: "a x", text: "1" }]);
    state.show(new Map());
    expect(await state.get("a x")).toBe("0");
    expect(told.map(({ size }) => size)).toEqual([2, 0]);
  });
});
