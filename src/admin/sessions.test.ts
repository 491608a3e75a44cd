import { describe, expect, it } from "vitest";
import { scriptedAdmin, TOKEN } from "../../test/support/scripted-admin.ts";
import { Sessions, sessionTextOf } from "./sessions.ts";

const HOUR_MS = 3_600_000;

describe("a session", () => {
  it("stands for its token for twelve hours, or until it is ended", () => {
    const sessions = new Sessions();
    const { text, lastsMs } = sessions.begin("a", 0);
    expect(lastsMs).toBe(12 * HOUR_MS);
    expect(text).toMatch(/^[\w-]{43}$/);
    expect(sessions.tokenDigestOf(text, 12 * HOUR_MS - 1)).toBe("a");
    expect(sessions.tokenDigestOf(text, 12 * HOUR_MS)).toBeUndefined();
    expect(sessions.tokenDigestOf(`${text}x`, 0)).toBeUndefined();
    sessions.end(text);
    expect(sessions.tokenDigestOf(text, 0)).toBeUndefined();
  });

  it("is one of twenty of its token: the oldest ends, and nobody else's", () => {
    const sessions = new Sessions();
    const other = sessions.begin("b", 0);
    const own = Array.from({ length: 21 }, () => sessions.begin("a", 0).text);
    const open = own.filter((text) => sessions.tokenDigestOf(text, 1) !== undefined);
    expect(open).toEqual(own.slice(1));
    expect(sessions.tokenDigestOf(other.text, 1)).toBe("b");
  });
});

const HOST = "gateway.example.com:8546";
const ORIGIN = `http://${HOST}`;
const PAGE = { host: HOST, origin: ORIGIN, authorization: "" };
const CHANGE = { ...PAGE, "x-headgate-console": "1" };

/** Logs in as a browser does; `ask` sends requests with the session's cookie. */
async function loggedIn(token = TOKEN, login: Record<string, string> = PAGE) {
  const admin = await scriptedAdmin();
  const body = { token };
  const told = await admin.ask("POST", "/session", { body, headers: login });
  const cookie = told.headers.get("set-cookie") ?? "";
  const sent = { cookie: cookie.split(";")[0] ?? "" };
  const ask = (verb: string, path: string, headers: Record<string, string>) =>
    admin.app.request(path, { method: verb, headers: { ...sent, ...headers } });
  return { ...admin, told, cookie, ask };
}

describe("a browser's session", () => {
  it("is a cookie that no script reads and no other site sends", async () => {
    const { told, cookie, close } = await loggedIn();
    expect(told.json).toMatchObject({ operator: { name: "admin", role: "all" } });
    expect(cookie).toMatch(
      /^headgate-session-8546=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(told.text + JSON.stringify([...told.headers])).not.toContain(TOKEN);
    await close();
  });

  it("is not taken from a cookie that a plain page of this host may have set, where there is one of TLS", () => {
    const header = (name: string) =>
      ({ host: HOST, cookie: "headgate-session-8546=tossed; __Host-headgate-session-8546=own" })[
        name
      ];
    expect(sessionTextOf({ header })).toBe("own");
  });

  it("is for TLS alone where the page came over TLS", async () => {
    const page = { ...PAGE, origin: `https://${HOST}`, "sec-fetch-site": "same-origin" };
    const { cookie, ask, close } = await loggedIn(TOKEN, page);
    expect(cookie).toMatch(/^__Host-headgate-session-8546=.*; Secure$/);
    expect((await ask("GET", "/keys", { host: HOST })).status).toBe(200);
    await close();
  });

  it("is not had for a wrong token, and guesses are slow as elsewhere", async () => {
    const admin = await scriptedAdmin();
    const guess = () => admin.ask("POST", "/session", { body: { token: "wrong" }, headers: PAGE });
    for (let tries = 0; tries < 10; tries += 1) expect((await guess()).status).toBe(401);
    const slowed = guess();
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(admin.clock.waiting).toBe(1);
    await admin.clock.advance(100);
    expect((await slowed).headers.get("set-cookie")).toBeNull();
    await admin.close();
  });

  it.each([
    { what: "a wrong token that is asked about", path: "/session", want: 401 },
    { what: "none", path: "/session", headers: { authorization: "" }, want: 200 },
  ])("$what answers $want", async ({ path, headers = { authorization: "Bearer no" }, want }) => {
    const { ask, close } = await scriptedAdmin();
    expect((await ask("GET", path, { headers })).status).toBe(want);
    await close();
  });

  it.each([
    { what: "reads", verb: "GET", headers: { host: HOST }, want: 200 },
    { what: "reads, by its page", verb: "GET", headers: { ...PAGE }, want: 200 },
    { what: "changes, by its page", verb: "POST", headers: CHANGE, want: 404 },
    { what: "changes without the header", verb: "POST", headers: PAGE, want: 403 },
    {
      what: "changes without an origin",
      verb: "POST",
      headers: { host: HOST, "x-headgate-console": "1" },
      want: 403,
    },
    {
      what: "another origin's page changes",
      verb: "POST",
      headers: { ...CHANGE, origin: "http://evil.example.com" },
      want: 403,
    },
    {
      what: "another port's page changes",
      verb: "POST",
      headers: { ...CHANGE, origin: "http://gateway.example.com:3000" },
      want: 403,
    },
    {
      what: "another site's page changes, a browser says",
      verb: "POST",
      headers: { ...CHANGE, "sec-fetch-site": "same-site" },
      want: 403,
    },
    {
      what: "another site's page reads, a browser says",
      verb: "GET",
      headers: { host: HOST, "sec-fetch-site": "cross-site" },
      want: 403,
    },
  ])("$what: $want", async ({ verb, headers, want }) => {
    const { ask, close } = await loggedIn();
    const path = verb === "GET" ? "/keys" : "/keys/nobody/revoke";
    expect((await ask(verb, path, headers)).status).toBe(want);
    await close();
  });

  it("has the role of its token", async () => {
    const { ask, close } = await loggedIn(`${TOKEN}-read`);
    expect((await ask("GET", "/keys", { host: HOST })).status).toBe(200);
    expect((await ask("POST", "/keys/nobody/revoke", CHANGE)).status).toBe(403);
    await close();
  });

  it("is none without a text, which is refused as any wrong one", async () => {
    const { app, logged, close } = await scriptedAdmin();
    for (const text of ["", "x"]) {
      const headers = { host: HOST, cookie: `headgate-session-8546=${text}` };
      expect((await app.request("/keys", { headers })).status).toBe(401);
    }
    expect(logged).toEqual([{ refused: "token" }, { refused: "token" }]);
    await close();
  });

  it("begins for no page of another site", async () => {
    const { told, close } = await loggedIn(TOKEN, { ...PAGE, origin: "http://evil.example.com" });
    expect(told.status).toBe(403);
    await close();
  });

  it("ends when somebody logs out", async () => {
    const { ask, close } = await loggedIn();
    const told = await ask("POST", "/session/end", { ...PAGE, "content-type": "application/json" });
    expect(told.headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await ask("GET", "/keys", { host: HOST })).status).toBe(401);
    expect(await (await ask("GET", "/session", { host: HOST })).json()).toEqual({});
    await close();
  });
});
