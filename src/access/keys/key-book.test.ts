import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { until } from "../../../test/support/processes.ts";
import { apiKey, hashedKey } from "../../config/key-settings.ts";
import { errors } from "../../jsonrpc/rpc-error.ts";
import { HeldState } from "../../state/held-state.ts";
import { LmdbState } from "../../state/lmdb-state.ts";
import { KeyBook, type KeyMade, type KeyRefusal } from "./key-book.ts";
import { isKeyText } from "./key-hash.ts";
import { VERSION } from "./key-record.ts";

let path: string;
let state: LmdbState;
let clock: FakeClock;
let book: KeyBook;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-keys-"));
  state = new LmdbState({ path });
  clock = new FakeClock();
  const keys = [hashedKey(apiKey.parse({ name: "filed", key: "demo" }))];
  const options = {
    keys,
    networks: ["eth-mainnet", "base"],
    openMethods: ["own_ping"],
    secret: "a secret of sixteen",
  };
  book = new KeyBook(options, { state, clock });
});
afterEach(async () => {
  await state.close();
  await rm(path, { recursive: true });
});

const made = (outcome: KeyMade | KeyRefusal): KeyMade => {
  if (outcome.kind !== "made") throw new Error(JSON.stringify(outcome));
  return outcome;
};

describe("a key that is made", () => {
  it("is shown once, and of its text the state holds nothing", async () => {
    const { text, key } = made(await book.create({ name: "web", networks: ["base"] }));
    expect(isKeyText(text)).toBe(true);
    expect(key).toMatchObject({ name: "web", source: "made", status: "active" });
    expect(key.settings.networks).toEqual(["base"]);
    expect(JSON.stringify([await book.list(), await state.list("keys ")])).not.toContain(text);
    for (const file of await readdir(path)) {
      expect((await readFile(join(path, file))).includes(text.slice(3, 30))).toBe(false);
    }
  });

  it.each([
    [
      { name: "Web" },
      ["name: expected 1 to 64 characters of a-z, 0-9, '.', '_' and '-', got a text"],
    ],
    [
      { name: "a", methods: ["own_*", "owm_*"] },
      ["methods[1]: this pattern fits no method that is known here: write the full names"],
    ],
    [
      { name: "a", networks: ["bass"] },
      ["networks[0]: no network has this name; did you mean base?"],
    ],
    [{ name: "a", rates: 1 }, ["rates: unknown setting; did you mean rate?"]],
    [{ name: "a", profile: "browser" }, ["origins: the browser profile needs origins"]],
    [{ name: "a", expires: "1970-01-01T00:00:00Z" }, ["expires: is in the past"]],
    [
      { name: "a", key: "hg_x", computeUnits: { perDay: 0 } },
      [
        "computeUnits.perDay: expected a whole number from 1, got a number",
        "key: the gateway makes it",
      ],
    ],
    ["a", ["the key: expected a mapping, got a text"]],
  ])("%j is refused with its mistakes", async (request, mistakes) => {
    expect(await book.create(request)).toEqual({ kind: "mistakes", mistakes });
  });

  it("has a name of its own, among configured ones and revoked ones too", async () => {
    made(await book.create({ name: "web" }));
    await book.revoke("web");
    expect(await book.create({ name: "web" })).toMatchObject({ kind: "taken" });
    expect(await book.create({ name: "filed" })).toMatchObject({ kind: "taken" });
  });

  it("goes by the names of another configuration, once that is taken", async () => {
    const keys = [hashedKey(apiKey.parse({ name: "web", key: "demo" }))];
    book.reconfigure({ keys, networks: ["optimism"], openMethods: [] });
    expect(await book.create({ name: "web" })).toMatchObject({ kind: "taken" });
    made(await book.create({ name: "filed", networks: ["optimism"] }));
    expect(await book.create({ name: "other", networks: ["base"] })).toMatchObject({
      kind: "mistakes",
    });
    expect((await book.list()).map(({ name }) => name)).toEqual(["web", "filed"]);
  });

  it("is made once when many want its name at once", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => book.create({ name: "web" })));
    expect(all.map(({ kind }) => kind).sort()).toEqual(["made", ...Array(7).fill("taken")]);
    const others = Array.from({ length: 8 }, (_, n) => book.create({ name: `web-${n}` }));
    expect((await Promise.all(others)).every(({ kind }) => kind === "made")).toBe(true);
  });
});

describe("a change", () => {
  it("keeps the name and tells when it was", async () => {
    made(await book.create({ name: "web" }));
    await clock.advance(1000);
    const first = made(await book.rotate("web", { overlapMs: 60_000 }));
    expect(first.key).toMatchObject({
      createdAt: "1970-01-01T00:00:00.000Z",
      rotatedAt: "1970-01-01T00:00:01.000Z",
      oldKeyWorksUntil: "1970-01-01T00:01:01.000Z",
    });
    expect(made(await book.rotate("web", { overlapMs: 0 })).key).not.toHaveProperty(
      "oldKeyWorksUntil",
    );
    expect(await book.disable("web")).toMatchObject({ key: { status: "disabled" } });
    expect(await book.enable("web")).toMatchObject({ key: { status: "active" } });
    expect(await book.revoke("web")).toMatchObject({
      key: { status: "revoked", revokedAt: expect.anything() },
    });
    expect(await book.enable("web")).toEqual({
      kind: "refused",
      why: "the key web is revoked for good",
    });
  });

  it("patches: null takes away, what is left out stays", async () => {
    const rate = { computeUnits: 10, burst: 20 };
    const computeUnits = { perDay: 5, perMonth: 50 };
    made(await book.create({ name: "web", rate, computeUnits, networks: ["base"] }));
    const patch = { networks: null, rate: { computeUnits: 15 }, computeUnits: { perDay: null } };
    expect(await book.update("web", patch)).toMatchObject({ kind: "changed" });
    expect((await book.show("web"))?.settings).toEqual({
      rate: { computeUnits: 15, burst: 20 },
      computeUnits: { perMonth: 50 },
      limits: { logs: {} },
    });
    expect(await book.update("web", { name: "wob" })).toMatchObject({
      mistakes: ["name: cannot be changed"],
    });
    expect(await book.update("web", { batch: 5 })).toMatchObject({ kind: "mistakes" });
  });

  it("leaves an expired key to be changed, and to be woken by a later expiry", async () => {
    made(await book.create({ name: "web", expires: "1970-01-01T00:00:05Z" }));
    await clock.advance(5000);
    expect((await book.show("web"))?.status).toBe("expired");
    expect(await book.update("web", { readOnly: true })).toMatchObject({ kind: "changed" });
    expect(await book.update("web", { expires: "2030-01-01T00:00:00+02:00" })).toMatchObject({
      key: { status: "active", settings: { expires: "2029-12-31T22:00:00.000Z" } },
    });
  });

  it("is for keys that were made, and raises the version", async () => {
    for (const name of ["nobody", "a".repeat(100_000)]) {
      expect(await book.revoke(name)).toMatchObject({ kind: "unknown" });
      expect(await book.show(name)).toBeUndefined();
    }
    expect(await book.disable("filed")).toMatchObject({ kind: "refused" });
    expect(await state.get(VERSION)).toBeUndefined();
    made(await book.create({ name: "web" }));
    const version = await state.get(VERSION);
    await book.disable("web");
    expect(await state.get(VERSION)).not.toBe(version);
  });
});

describe("the list", () => {
  it("has configured keys first, and no secrets", async () => {
    made(await book.create({ name: "b" }));
    made(await book.create({ name: "a" }));
    expect((await book.list()).map(({ name, source }) => [name, source])).toEqual([
      ["filed", "file"],
      ["a", "made"],
      ["b", "made"],
    ]);
    expect(JSON.stringify(await book.list())).not.toMatch(/hash|sha256|secret/);
  });
});

describe("a key that leaked while the disk is full", () => {
  it("is revoked or disabled at once, for good when there is room; nothing else is changed", async () => {
    let isFull = false;
    const disk = Object.assign(Object.create(state) as LmdbState, {
      get: (key: string) => state.get(key),
      list: (prefix: string) => state.list(prefix),
      update: (...asked: Parameters<LmdbState["update"]>) =>
        isFull ? Promise.reject(errors.stateNotWritable("no space")) : state.update(...asked),
    });
    const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const held = new HeldState(disk, { clock, log: quiet });
    const options = { keys: [], networks: [], openMethods: [], secret: "a secret of sixteen" };
    const own = new KeyBook(options, { state: held, clock });
    for (const name of ["web", "app"]) made(await own.create({ name }));
    const before = await state.get(VERSION);
    isFull = true;
    expect(await own.revoke("web")).toMatchObject({ key: { status: "revoked", isKept: false } });
    expect(await own.disable("app")).toMatchObject({ key: { status: "disabled", isKept: false } });
    expect(await own.revoke("web")).toMatchObject({ kind: "refused" }); // already revoked
    await expect(own.enable("app")).rejects.toThrow("no space");
    await expect(own.create({ name: "more" })).rejects.toThrow("no space");
    const statuses = async (of: KeyBook) => (await of.list()).map(({ status }) => status);
    expect(await statuses(own)).toEqual(["disabled", "revoked"]);
    expect(await statuses(book)).toContain("active"); // the disk still has the old records
    expect(await held.get(VERSION)).not.toBe(before); // so that every reader reads the keys again
    isFull = false;
    await clock.advance(1_000);
    await until("it is held no more", async () => !held.isHeld(VERSION));
    expect(await statuses(book)).toEqual(["active", "disabled", "revoked"]); // the first key is of the file
    expect(await own.show("web")).not.toHaveProperty("isKept");
  });
});
