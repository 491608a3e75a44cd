import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { AuditTrail, KEPT_ENTRIES } from "./audit-trail.ts";

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
    const { first, end } = await state.readFrom("audit trail", 0);
    expect(end - first).toBeLessThanOrEqual(KEPT_ENTRIES * 1.125 + 1);
    const details = Array.from({ length: 500 }, () => "x".repeat(10_000));
    await trail.note(ci, { what: "large", details });
    const { entries } = await trail.read({ limit: 1 });
    expect(JSON.stringify(entries).length).toBeLessThan(12_000);
    expect((await trail.read({ limit: 1e9 })).entries).toHaveLength(1_000);
  });

  it("is in the log where the state does not take it", async () => {
    const away = async () => {
      throw errors.stateUnavailable();
    };
    const broken = { append: away, readFrom: away };
    await new AuditTrail({ state: broken, clock: new FakeClock(), log }).note(ci, { what: "a" });
    expect(logged).toMatchObject([
      { who: "ci", what: "a", reason: expect.stringContaining("cannot be reached") },
    ]);
  });
});
