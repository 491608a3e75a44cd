import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../test/support/processes.ts";
import { scriptedAdmin, TOKEN } from "../../test/support/scripted-admin.ts";
import { ROLES } from "../config/server-settings.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { AdminAppParts } from "./admin-parts.ts";
import { covers } from "./admission.ts";
import { declaredRoutes } from "./document.ts";
import { ROLE } from "./routes.ts";
import { MOST_TRIES } from "./try-routes.ts";

let close: () => Promise<void> = async () => undefined;
afterEach(() => close());

const open = async (overrides: Partial<AdminAppParts> = {}) => {
  const admin = await scriptedAdmin(overrides);
  close = admin.close;
  return admin;
};

describe("the admin API's way in", () => {
  it("asks for the token on every path, also where there is nothing", async () => {
    const { ask } = await open();
    for (const path of ["/keys", "/metrics", "/openapi.json", "/nothing"]) {
      const told = await ask("GET", path, { headers: { authorization: "Bearer wrong" } });
      expect(told.json).toMatchObject({ status: 401, title: "Unauthorized" });
      expect(told.headers.get("www-authenticate")).toBe('Bearer realm="headgate"');
    }
  });

  it("holds back the refusals of an address that guesses, and never who knows the token", async () => {
    const admin = await open();
    const guess = () => admin.ask("GET", "/keys", { headers: { authorization: "Bearer wrong" } });
    for (let tries = 0; tries < 10; tries += 1) expect((await guess()).status).toBe(401);
    const slowed = guess();
    await until("one waits", async () => admin.clock.waiting === 1);
    expect((await admin.ask("GET", "/keys")).status).toBe(200);
    await admin.clock.advance(100);
    expect((await slowed).status).toBe(401);
    expect(JSON.stringify(admin.logged)).not.toContain('wrong"');
  });

  it.each([
    { verb: "GET", path: "/", status: 404 },
    { verb: "GET", path: "/keys/a/b/c", status: 404 },
    { verb: "DELETE", path: "/keys/app", status: 405, allow: "GET, PATCH" },
    { verb: "GET", path: "/reload", status: 405, allow: "POST" },
    { verb: "PUT", path: "/keys", status: 405, allow: "GET, POST" },
  ])("$verb $path answers $status", async ({ verb, path, status, allow }) => {
    const { ask } = await open();
    const told = await ask(verb, path);
    expect(told.json).toMatchObject({ type: "about:blank", status });
    expect(told.headers.get("allow")).toBe(allow ?? null);
    expect(told.headers.get("content-type")).toBe("application/problem+json");
    expect(told.headers.get("cache-control")).toBe("no-store");
  });

  it("takes bodies of 64 KiB, and JSON alone", async () => {
    const { ask } = await open();
    const body = JSON.stringify({ name: "a".repeat(65_536) });
    const length = { "content-length": String(body.length) };
    expect((await ask("POST", "/keys", { body, headers: length })).status).toBe(413);
    const chunked = { "transfer-encoding": "chunked" };
    expect((await ask("POST", "/keys", { body, headers: chunked })).status).toBe(411);
    const headers = { "content-type": "text/plain" };
    expect((await ask("POST", "/keys", { body: "{}", headers })).status).toBe(415);
  });

  it("says that the state is away", async () => {
    const list = async () => {
      throw errors.stateUnavailable();
    };
    const parts = { keys: { list }, state: { list } };
    const { ask } = await open(parts as unknown as Partial<AdminAppParts>);
    for (const path of ["/keys", "/keys/app/usage/hours"])
      expect((await ask("GET", path)).json).toMatchObject({
        status: 503,
        detail: errors.stateUnavailable().message,
      });
  });

  it("tells nothing of a fault of its own but where the log has it", async () => {
    const networks = async () => {
      throw new Error("a secret");
    };
    const { ask, logged } = await open({ networks });
    const { text, json } = await ask("GET", "/status");
    expect(json).toMatchObject({ status: 500, detail: "internal error" });
    expect(text).not.toContain("a secret");
    const { requestId } = json as { requestId: string };
    expect(logged).toMatchObject([
      { requestId, text: "a request to the admin API failed unexpectedly" },
    ]);
  });
});

describe("a role", () => {
  const verbOf = ({ method }: (typeof declaredRoutes)[number]) => method.toUpperCase();
  const matrix = declaredRoutes.flatMap((route) =>
    ROLES.map((role) => ({ role, route, name: `${verbOf(route)} ${route.path}` })),
  );

  it.each(matrix)("$role at $name", async ({ role, route }) => {
    const { ask, logged } = await open();
    const path = route.path.replace("{name}", "nobody");
    const token = role === "all" ? TOKEN : `${TOKEN}-${role}`;
    const headers = { authorization: `Bearer ${token}` };
    const { status, json } = await ask(verbOf(route), path, { headers });
    const needed = route[ROLE] ?? "read";
    if (covers(role, needed)) expect([200, 404, 422, 409]).toContain(status);
    else {
      const detail = `this request needs a token of the role ${needed}, and yours has the role ${role}`;
      expect(json).toMatchObject({ status: 403, detail });
      expect(logged).toEqual([{ refused: "role" }]);
    }
  });

  it("is asked for in whatever way a path is written", async () => {
    const { app } = await open();
    const headers = { authorization: `Bearer ${TOKEN}-read`, "content-type": "application/json" };
    for (const path of ["/keys/a%62c/revoke", "/%6beys/abc/revoke", "/keys/abc/rev%6fke"]) {
      const { status } = await app.request(path, { method: "POST", headers });
      expect([403, 404], path).toContain(status);
    }
    const head = await app.request("/keys", { method: "HEAD", headers });
    expect(head.status).toBe(200);
  });
});

describe("the audit trail", () => {
  it("tells who changed which key, page by page, and nothing of a key", async () => {
    const { ask } = await open();
    const key = { name: "app", readOnly: true, origins: ["https://app.example.com"] };
    const made = (await ask("POST", "/keys", { body: key })).json as { key: string };
    const authorization = `Bearer ${TOKEN}-keys`;
    await ask("PATCH", "/keys/app", { body: { readOnly: null }, headers: { authorization } });
    await ask("POST", "/keys/app/revoke", { headers: { authorization } });
    await ask("POST", "/keys/app/revoke");
    await ask("POST", "/keys", { body: { name: "app" } });
    const told = await ask("GET", "/audit?limit=2");
    const at = expect.any(String);
    const from = "unknown"; // the request has no socket
    const ofKeys = { at, from, who: "keys", key: "app" };
    const what = "a key's settings were changed";
    expect(told.json).toEqual({
      entries: [
        { number: 2, ...ofKeys, what: "a key was revoked" },
        { number: 1, ...ofKeys, what, details: ["readOnly"] },
      ],
      next: 1,
    });
    const { json, text } = await ask("GET", "/audit?before=1");
    const details = ["readOnly", "origins"];
    const first = {
      number: 0,
      at,
      from,
      who: "admin",
      key: "app",
      what: "a key was made",
      details,
    };
    expect(json).toEqual({ entries: [first] });
    expect(told.text + text).not.toContain(made.key);
    for (const wrong of ["limit=0", "limit=1001", "before=-1", "limt=5"])
      expect((await ask("GET", `/audit?${wrong}`)).status).toBe(422);
  });
});

describe("the reload", () => {
  it("tells what changed", async () => {
    const { ask, logged } = await open({
      reload: async () => ({ kind: "reloaded", changed: ["log.level: info → debug"] }),
    });
    expect((await ask("POST", "/reload")).json).toEqual({ changed: ["log.level: info → debug"] });
    expect(logged).toMatchObject([{ text: "the configuration was reloaded" }]);
  });

  it("tells the mistakes of a file that changes nothing", async () => {
    const mistakes = ["listen.port: needs a restart"];
    const { ask, logged } = await open({ reload: async () => ({ kind: "mistakes", mistakes }) });
    expect((await ask("POST", "/reload")).json).toMatchObject({ status: 422, mistakes });
    expect(logged).toEqual([]);
  });
});

describe("a reload that cannot be done", () => {
  it("answers 409 and why", async () => {
    const why = "there is no configuration file";
    const { ask } = await open({ reload: async () => ({ kind: "refused", why }) });
    expect((await ask("POST", "/reload")).json).toMatchObject({ status: 409, detail: why });
  });
});

describe("metrics", () => {
  it("come as Prometheus wants them", async () => {
    const { ask } = await open();
    const { text, headers } = await ask("GET", "/metrics");
    expect(text).toBe("headgate_up 1\n");
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4");
  });
});

describe("tries", () => {
  it("are few at once, of one token and of all, and a token's own do not take others'", async () => {
    const unanswered: ((value: { kind: "unknown"; what: "key" }) => void)[] = [];
    const admin = await open({
      trials: {
        try: () => new Promise((resolve) => unanswered.push(resolve)),
        describe: async () => undefined,
      },
    });
    const tryAs = (token: string) =>
      admin.ask("POST", "/try", {
        body: { network: "main", key: "app", method: "eth_call" },
        headers: { authorization: `Bearer ${token}` },
      });
    const running = Array.from({ length: MOST_TRIES.ofToken }, () => tryAs(TOKEN));
    await until("all are asked", async () => unanswered.length === MOST_TRIES.ofToken);
    const refused = await tryAs(TOKEN);
    expect(refused).toMatchObject({ status: 429, text: expect.stringContaining("wait for an") });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(admin.logged).toContainEqual({ refused: "tries" });
    const { ofToken, ofAll } = MOST_TRIES;
    const others = Array.from({ length: ofAll - ofToken }, (_, index) =>
      tryAs(`${TOKEN}-${index < ofToken ? "keys" : "more"}`),
    );
    await until("all are asked", async () => unanswered.length === ofAll);
    expect((await tryAs(`${TOKEN}-more`)).status).toBe(429); // its token has room, but all tokens together have none
    for (const end of unanswered.splice(0)) end({ kind: "unknown", what: "key" });
    for (const each of [...running, ...others]) expect((await each).status).toBe(404);
    const again = tryAs(TOKEN); // calls that ended make room
    await until("it is asked", async () => unanswered.length === 1);
    unanswered[0]?.({ kind: "unknown", what: "key" });
    expect((await again).status).toBe(404);
  });
});
