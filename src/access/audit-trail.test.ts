import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { AuditTrail, KEPT_ENTRIES, MOST_ACTORS } from "./audit-trail.ts";

const ci = { who: "ci", from: "10.0.0.1" };
const logged: object[] = [];
const log = { error: (about: object) => void logged.push(about) };

let state: MemoryState;
let trail: AuditTrail;
const opened = () => new AuditTrail({ state, clock: new FakeClock(), log });

beforeEach(() => {
  logged.length = 0;
  state = new MemoryState();
  trail = opened();
});

const whats = async (asked: { before?: number; limit: number }) => {
  const { entries, next } = await trail.read(asked);
  return { what: entries.map(({ what }) => what), next };
};

describe("the audit trail", () => {
  it("tells who changed what, newest first, page by page", async () => {
    expect(await trail.read({ limit: 10 })).toEqual({ entries: [], next: undefined });
    await trail.note(ci, { what: "a key was made", key: "app", details: ["networks"] });
    for (const what of ["b", "c", "d"]) await trail.note(ci, { what });
    expect(await whats({ limit: 2 })).toEqual({ what: ["d", "c"], next: 2 });
    expect(await whats({ limit: 2, before: 2 })).toEqual({
      what: ["b", "a key was made"],
      next: undefined,
    });
    const { entries } = await trail.read({ limit: 10, before: 1 });
    expect(entries).toEqual([
      {
        number: 0,
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        ...ci,
        what: "a key was made",
        key: "app",
        details: ["networks"],
      },
    ]);
  });

  it("is one for all gateways over a state, none of which loses an entry", async () => {
    const trails = Array.from({ length: 8 }, opened);
    await Promise.all(
      trails.flatMap((each, n) => ["a", "b", "c"].map((word) => each.note(ci, { what: word + n }))),
    );
    const { what } = await whats({ limit: 100 });
    expect(new Set(what).size).toBe(24);
    expect(what.filter((each) => each.endsWith("3"))).toEqual(["c3", "b3", "a3"]);
  });

  it("is bounded in entries, and each in size", async () => {
    for (let count = 0; count < KEPT_ENTRIES * 1.2; count += 1)
      await trail.note(ci, { what: String(count) });
    expect(state.texts.size).toBe(KEPT_ENTRIES + 1); // the entries, and the index
    const details = Array.from({ length: 500 }, () => "x".repeat(10_000));
    await trail.note(ci, { what: "large", details });
    const { entries } = await trail.read({ limit: 1 });
    expect(JSON.stringify(entries).length).toBeLessThan(12_000);
    expect((await trail.read({ limit: 1e9 })).entries).toHaveLength(1_000);
  });

  it("lets nobody push out what others did, however much it changes", async () => {
    const admin = { who: "admin", from: "10.0.0.2" };
    await trail.note(admin, { what: "the configuration was reloaded" });
    for (let count = 0; count < KEPT_ENTRIES + 20; count += 1)
      await trail.note(ci, { what: "a key was disabled", key: String(count) });
    await trail.note(admin, { what: "a key was revoked" });
    const seen: string[] = [];
    let before: number | undefined;
    do {
      const page = await trail.read({ limit: 900, ...(before !== undefined && { before }) });
      seen.push(...page.entries.map(({ number, who, what }) => `${number} ${who} ${what}`));
      before = page.next;
    } while (before !== undefined);
    expect(seen).toHaveLength(KEPT_ENTRIES + 2); // each entry once
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen[0]).toBe(`${KEPT_ENTRIES + 21} admin a key was revoked`);
    expect(seen.at(-2)).toBe("21 ci a key was disabled"); // the trail forgot the oldest entries of ci
    expect(seen.at(-1)).toBe("0 admin the configuration was reloaded");
  });

  it("is bounded in names, of which any may be one", async () => {
    const names = [..."abc", "__proto__", "constructor", "a 1"];
    for (const who of names) await trail.note({ who, from: "" }, { what: who });
    for (let n = 0; n < 2 * MOST_ACTORS; n += 1)
      await trail.note({ who: `actor-${n}`, from: "" }, { what: "a key was made" });
    const { entries } = await trail.read({ limit: 1_000 });
    expect(
      entries
        .map(({ who }) => who)
        .reverse()
        .slice(0, 8),
    ).toEqual([...names, "actor-0", "actor-1"]);
    expect(entries).toHaveLength(names.length + 2 * MOST_ACTORS);
    const owners = [...state.texts.keys()].map((key) => key.replace(/ \d+$/, ""));
    expect(new Set(owners).size).toBe(1 + MOST_ACTORS + 1); // the index, and the entries that further actors share
  });

  it("is in the log where the state does not take it", async () => {
    const away = async () => {
      throw errors.stateUnavailable();
    };
    const broken = { get: away, update: away };
    await new AuditTrail({ state: broken, clock: new FakeClock(), log }).note(ci, { what: "a" });
    expect(logged).toMatchObject([
      { who: "ci", what: "a", reason: expect.stringContaining("cannot be reached") },
    ]);
  });
});
