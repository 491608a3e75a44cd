import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { Members, memberId } from "./members.ts";

let clock: FakeClock;
let state: MemoryState;

beforeEach(() => {
  clock = new FakeClock();
  state = new MemoryState({ clock });
});

const member = (id: string): Members => new Members({ id }, { state, clock });

/** Lets all members beat once a second. */
const live = async (all: readonly Members[], seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    for (const each of all) await each.beat();
    await clock.advance(1000);
  }
};

describe("the members of a fleet", () => {
  it("know each other within a second", async () => {
    const all = [member("a"), member("b"), member("c")];
    await live(all, 2);
    expect(all.map(({ count }) => count)).toEqual([3, 3, 3]);
  });

  it("count one that died no longer after five seconds, and forget it after a minute", async () => {
    const [one, other] = [member("a"), member("b")];
    await live([one, other], 2);
    await live([one], 4);
    expect(one.count).toBe(2);
    await live([one], 2);
    expect(one.count).toBe(1);
    await live([one], 60);
    expect([...state.texts.keys()]).toEqual(["members a"]);
  });

  it("count one that left at once, and one that came back under its name", async () => {
    const [one, other] = [member("a"), member("b")];
    await live([one, other], 2);
    await other.close();
    await one.beat();
    expect(one.count).toBe(1);
    await live([one, member("b")], 2);
    await live([one, member("b")], 2); // a new process after b was killed
    expect(one.count).toBe(2);
  });

  it("are as many as they were while the state is away", async () => {
    const [one, other] = [member("a"), member("b")];
    await live([one, other], 2);
    state.isAway = true;
    await live([one, other], 20);
    expect(one.count).toBe(2);
    state.isAway = false;
    await live([one, other], 2);
    expect([one.count, other.count]).toEqual([2, 2]);
  });

  it("go on after a beat that nobody confirmed", async () => {
    const one = member("a");
    state.losesAnswers = true;
    await one.beat();
    state.losesAnswers = false;
    await live([one, member("b")], 2);
    expect(one.count).toBe(2);
  });
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-member-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the id of a member", () => {
  it("is the same after a restart, and another one for each process and each folder", async () => {
    const data = join(folder, "made", "here");
    const first = memberId({ data, slot: 0 });
    expect(first).toMatch(/^[0-9a-f]{16}-0$/);
    expect(memberId({ data, slot: 0 })).toBe(first);
    expect(memberId({ data, slot: 1 })).toBe(first.replace(/0$/, "1"));
    expect(memberId({ data: folder, slot: 0 })).not.toBe(first);
    expect(await readdir(data)).toEqual(["_member"]);
  });

  it("is not made anew where its file cannot be understood: somebody should look", async () => {
    await writeFile(join(folder, "_member"), "");
    expect(() => memberId({ data: folder, slot: 0 })).toThrow("_member");
  });
});
