import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { scriptedAdmin } from "../../test/support/scripted-admin.ts";

let admin: Awaited<ReturnType<typeof scriptedAdmin>>;
beforeEach(async () => {
  admin = await scriptedAdmin();
});
afterEach(() => admin.close());

describe("what cannot be done with a key", () => {
  it.each([
    {
      body: {},
      mistakes: ["name: missing; expected 1 to 64 characters of a-z, 0-9, '.', '_' and '-'"],
    },
    {
      body: { name: "a", networks: ["eth-mainnett"], rat: 5 },
      mistakes: [
        "rat: unknown setting; did you mean rate?",
        "networks[0]: no network has this name; did you mean eth-mainnet?",
      ],
    },
    { body: { name: "a", expires: "1969-01-01T00:00:00Z" }, mistakes: ["expires: is in the past"] },
  ])("has its mistakes told: $body", async ({ body, mistakes }) => {
    const { status, json } = await admin.ask("POST", "/keys", { body });
    expect(status).toBe(422);
    expect((json as { mistakes: string[] }).mistakes).toEqual(mistakes);
  });

  it.each([
    {
      verb: "GET",
      path: "/keys/nobody",
      status: 404,
      detail: "there is no key of the name nobody",
    },
    { verb: "POST", path: "/keys/nobody/revoke", status: 404 },
    { verb: "GET", path: "/keys/nobody/usage", status: 404 },
    { verb: "GET", path: "/keys/nobody/usage/hours", status: 404 },
    {
      verb: "POST",
      path: "/keys/in-file/revoke",
      status: 409,
      detail: "the key in-file is in the configuration file: change it there",
    },
    { verb: "POST", path: "/keys", body: { name: "in-file" }, status: 409 },
    {
      verb: "POST",
      path: "/keys",
      body: "{",
      status: 400,
      detail: "the body is not a JSON object",
    },
    { verb: "POST", path: "/keys", body: "[]", status: 400 },
    { verb: "PATCH", path: "/keys/in-file", body: "5", status: 400 },
  ])("$verb $path answers $status", async ({ verb, path, body, status, detail }) => {
    const { json } = await admin.ask(verb, path, { body });
    expect(json).toMatchObject({ status, ...(detail ? { detail } : {}) });
  });

  it("is an overlap that is no duration", async () => {
    await admin.ask("POST", "/keys", { body: { name: "app" } });
    const { json } = await admin.ask("POST", "/keys/app/rotate", { body: { overlap: "soon" } });
    expect(json).toMatchObject({ mistakes: ["overlap: expected a duration such as 24h, or 0s"] });
  });
});
