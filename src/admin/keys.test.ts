import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { scriptedAdmin } from "../../test/support/scripted-admin.ts";

let admin: Awaited<ReturnType<typeof scriptedAdmin>>;
beforeEach(async () => {
  admin = await scriptedAdmin();
});
afterEach(() => admin.close());

const make = async (name: string, terms: object = {}): Promise<string> => {
  const { json } = await admin.ask("POST", "/keys", { body: { name, ...terms } });
  return (json as { key: string }).key;
};
const show = async (name: string): Promise<unknown> =>
  (await admin.ask("GET", `/keys/${name}`)).json;

describe("a key", () => {
  it("is made, told once and never kept by anybody on the way", async () => {
    const made = await admin.ask("POST", "/keys", {
      body: { name: "app", networks: ["eth-mainnet"], rate: { computeUnits: 5 } },
    });
    const { key } = made.json as { key: string };
    expect(made.status).toBe(201);
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(key).toMatch(/^hg_[0-9A-Za-z]{33}$/);
    expect(await show("app")).toMatchObject({
      status: "active",
      source: "made",
      settings: { networks: ["eth-mainnet"], rate: { computeUnits: 5, burst: 5 } },
    });
    const kept = await admin.state.list("keys ");
    for (const text of [
      JSON.stringify(kept),
      JSON.stringify(admin.logged),
      JSON.stringify(await show("app")),
    ])
      expect(text).not.toContain(key);
  });

  it("is listed beside those of the file", async () => {
    await make("app");
    const { keys } = (await admin.ask("GET", "/keys")).json as {
      keys: { name: string; source: string }[];
    };
    expect(keys.map(({ name, source }) => `${name} ${source}`)).toEqual([
      "in-file file",
      "app made",
    ]);
  });

  it("rests, works again, and is revoked for good", async () => {
    await make("app");
    for (const [action, status] of [
      ["disable", "disabled"],
      ["enable", "active"],
      ["revoke", "revoked"],
    ])
      expect((await admin.ask("POST", `/keys/app/${action}`)).json).toMatchObject({ status });
    expect(await admin.ask("POST", "/keys/app/revoke")).toMatchObject({ status: 409 });
    expect(await admin.ask("POST", "/keys", { body: { name: "app" } })).toMatchObject({
      status: 409,
    });
  });

  it.each([
    { body: { overlap: "2h" }, until: "1970-01-01T02:00:00.000Z" },
    { body: {}, until: "1970-01-02T00:00:00.000Z" },
    { body: undefined, until: "1970-01-02T00:00:00.000Z" },
    { body: { overlap: "0s" }, until: undefined },
  ])("is rotated with the overlap $body", async ({ body, until }) => {
    const first = await make("app");
    const rotated = await admin.ask("POST", "/keys/app/rotate", { body });
    expect(rotated.json).toMatchObject({ name: "app" });
    expect((rotated.json as { key: string }).key).not.toBe(first);
    const { oldKeyWorksUntil } = (await show("app")) as { oldKeyWorksUntil?: string };
    expect(oldKeyWorksUntil).toBe(until);
  });

  it("is changed by what is sent alone; null takes a setting away", async () => {
    await make("app", { networks: ["eth-mainnet"], limits: { batch: 7, logs: { blocks: 9 } } });
    const body = { networks: null, limits: { batch: null }, expires: "1970-02-01T00:00:00Z" };
    const { json } = await admin.ask("PATCH", "/keys/app", { body });
    const { settings } = json as { settings: object };
    expect(settings).toEqual({
      computeUnits: {},
      limits: { logs: { blocks: 9 } },
      expires: "1970-02-01T00:00:00.000Z",
    });
  });

  it("leaves one line for each change: what, which, and from where", async () => {
    await make("app");
    await admin.ask("POST", "/keys/app/rotate");
    await admin.ask("POST", "/keys/app/revoke");
    await admin.ask("POST", "/keys/app/revoke");
    expect(admin.logged).toEqual(
      ["a key was made", "a key was rotated", "a key was revoked"].map((text) => ({
        text,
        key: "app",
        who: "admin",
        address: "unknown",
      })),
    );
  });
});
