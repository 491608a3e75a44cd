import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { apiKey, type ConfiguredKey, hashedKey } from "../../config/key-settings.ts";
import type { LimitSettings, Meter } from "../limits/meter.ts";
import type { KeyUsage } from "../usage/key-usage.ts";
import { KeyBook } from "./key-book.ts";
import { KeyRing } from "./key-ring.ts";

const FOO = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const options = { keys: [], networks: [], openMethods: [], secret: undefined };

let state: MemoryState;
/** How often the rings have read the state. */
let reads: number;
let clock: FakeClock;
let book: KeyBook;
let warnings: string[];
let metered: [string, LimitSettings][];
const rings: KeyRing[] = [];

beforeEach(() => {
  state = new MemoryState();
  clock = new FakeClock();
  reads = 0;
  warnings = [];
  metered = [];
  book = new KeyBook(options, { state, clock });
});
afterEach(async () => {
  for (const ring of rings.splice(0)) await ring.close();
  expect(clock.waiting).toBe(0);
});

const keyOf = (entry: Record<string, unknown>): ConfiguredKey =>
  hashedKey(apiKey.parse({ name: "demo", key: "demo-key", ...entry }));

async function ringOf(
  configured: readonly ConfiguredKey[] = [],
  secret?: string,
): Promise<KeyRing> {
  const log = {
    info: () => undefined,
    warn: (_: unknown, message: string) => warnings.push(message),
  };
  const meters = {
    of: (name: string, limits: LimitSettings): Meter => {
      metered.push([name, limits]);
      return {} as Meter;
    },
  };
  const usages = { of: () => ({}) as KeyUsage };
  const counted = {
    get: (key: string) => {
      reads += 1;
      return state.get(key);
    },
    list: (prefix: string) => {
      reads += 1;
      return state.list(prefix);
    },
    update: state.update.bind(state),
  };
  const parts = { state: counted, meters, usages, clock, log: log as never };
  const ring = new KeyRing({ configured, secret }, parts);
  rings.push(ring);
  await ring.start();
  return ring;
}

async function make(request: Record<string, unknown> = {}): Promise<string> {
  const outcome = await book.create({ name: "web", ...request });
  if (outcome.kind !== "made") throw new Error(JSON.stringify(outcome));
  return outcome.text;
}

describe("a configured key", () => {
  it("is found by its text, whether written as text or as hash", async () => {
    const ring = await ringOf([keyOf({}), keyOf({ name: "foo", key: undefined, hash: FOO })]);
    expect(ring.find("demo-key", 0)?.name).toBe("demo");
    expect(ring.find("foo", 0)?.name).toBe("foo");
    expect(ring.find("demo-kez", 0)).toBeUndefined();
  });

  it("is unknown from the moment it expires", async () => {
    const ring = await ringOf([keyOf({ expires: "1970-01-01T00:00:01Z" })]);
    expect(ring.find("demo-key", 999)).toBeDefined();
    expect(ring.find("demo-key", 1000)).toBeUndefined();
  });

  it("goes when it is configured no more, and others come", async () => {
    const ring = await ringOf([keyOf({})]);
    ring.reconfigure([keyOf({ name: "foo", key: undefined, hash: FOO })]);
    expect(ring.find("demo-key", 0)).toBeUndefined();
    expect(ring.find("foo", 0)?.name).toBe("foo");
  });

  it("is found again and again, as many as there are", async () => {
    const names = Array.from({ length: 10_050 }, (_, index) => `key-${index}`);
    const ring = await ringOf(names.map((name) => keyOf({ name, key: name })));
    const found = () => names.filter((name) => ring.find(name, 0)?.name === name).length;
    expect([found(), found()]).toEqual([names.length, names.length]);
    ring.reconfigure([]);
    expect(found()).toBe(0);
  });

  it("may have a text that another gateway made", async () => {
    const text = await make();
    const ring = await ringOf([keyOf({ name: "moved", key: text })], "another secret it is");
    expect(ring.find(text, 0)?.name).toBe("moved");
  });
});

describe("a key that was made", () => {
  it("is found by those who start later, and by those who run after 250 ms", async () => {
    const before = await ringOf();
    const text = await make();
    expect((await ringOf()).find(text, 0)?.name).toBe("web");
    await clock.advance(249);
    expect(before.find(text.replace("hg_", "hx_"), 0)).toBeUndefined();
    await clock.advance(1);
    expect(before.find(text, 0)?.name).toBe("web");
  });

  it("is found at the second try, however young it is", async () => {
    const ring = await ringOf();
    const text = await make();
    await clock.advance(50);
    expect(ring.find(text, 0)).toBeUndefined();
    await clock.advance(0);
    expect(ring.find(text, 0)?.name).toBe("web");
  });

  it("that is guessed makes one read in 50 ms, and a typo none", async () => {
    const ring = await ringOf();
    await clock.advance(50);
    const text = await make();
    const before = reads;
    for (let n = 0; n < 100; n++) ring.find(`${text.slice(0, -1)}-`, 0);
    expect(reads).toBe(before);
    for (let n = 0; n < 100; n++) ring.find(text, 0);
    await clock.advance(0);
    expect(reads).toBe(before + 2); // the version and the list
  });

  it.each(["revoke", "disable"] as const)("is unknown after %s", async (change) => {
    const text = await make();
    const ring = await ringOf();
    expect(ring.find(text, 0)).toBeDefined();
    await book[change]("web");
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeUndefined();
    await book.enable("web");
    await clock.advance(250);
    expect(ring.find(text, 0) !== undefined).toBe(change === "disable");
  });

  it("works under both texts during a rotation's overlap, and not beyond its expiry", async () => {
    const old = await make({ expires: "1970-01-01T01:00:00Z" });
    const rotated = await book.rotate("web", { overlapMs: 60_000 });
    const young = rotated.kind === "made" ? rotated.text : "";
    const ring = await ringOf();
    for (const [atMs, oldWorks, youngWorks] of [
      [59_999, true, true],
      [60_000, false, true],
      [3_599_999, false, true],
      [3_600_000, false, false],
    ] as const) {
      expect(ring.find(old, atMs) !== undefined).toBe(oldWorks);
      expect(ring.find(young, atMs) !== undefined).toBe(youngWorks);
    }
  });

  it("keeps its grant while it stays as it is, and gets another when it changes", async () => {
    const text = await make();
    const ring = await ringOf();
    const grant = ring.find(text, 0);
    await make({ name: "other" });
    await clock.advance(250);
    expect(ring.find(text, 0)).toBe(grant);
    await book.update("web", { computeUnits: { perDay: 7 } });
    await clock.advance(250);
    expect(ring.find(text, 0)).not.toBe(grant);
    expect(metered.at(-1)).toMatchObject(["web", { computeUnits: { perDay: 7 } }]);
  });

  it("gives way to a configured one of its name, with one warning, and comes back after", async () => {
    const text = await make({ name: "demo" });
    const ring = await ringOf([keyOf({})]);
    await make({ name: "other" });
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeUndefined();
    expect(ring.find("demo-key", 0)?.name).toBe("demo");
    expect(metered.filter(([name]) => name === "demo")).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    ring.reconfigure([]);
    expect(ring.find(text, 0)?.name).toBe("demo");
  });

  it("has no say in the limits of one that is configured later under its name", async () => {
    const text = await make({ name: "demo", computeUnits: { perDay: 7 } });
    const ring = await ringOf();
    ring.reconfigure([keyOf({ computeUnits: { perDay: 99 } })]);
    const elsewhere = new KeyBook(options, { state, clock });
    await elsewhere.update("demo", { computeUnits: { perDay: 8 } });
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeUndefined();
    expect(metered.at(-1)).toMatchObject(["demo", { computeUnits: { perDay: 99 } }]);
  });

  it("that was made with another secret is left out, with a warning", async () => {
    const text = await make();
    const ring = await ringOf([], "another secret it is");
    expect(ring.find(text, 0)).toBeUndefined();
    expect(warnings).toEqual(["a key cannot be read, or was made with another keySecret"]);
  });
});

describe("while the state is away", () => {
  it("known keys go on, and afterwards what happened is caught up with", async () => {
    const text = await make();
    const ring = await ringOf();
    state.isAway = true;
    await clock.advance(250);
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeDefined();
    expect(warnings).toHaveLength(1);
    state.isAway = false;
    await book.revoke("web");
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeUndefined();
  });

  it("a gateway starts, with its configured keys, and learns of others later", async () => {
    const text = await make();
    state.isAway = true;
    const ring = await ringOf([keyOf({})]);
    expect(ring.find("demo-key", 0)).toBeDefined();
    expect(ring.find(text, 0)).toBeUndefined();
    state.isAway = false;
    await clock.advance(250);
    expect(ring.find(text, 0)).toBeDefined();
  });
});
