import { describe, expect, it } from "vitest";
import { type AdminRequest, admitted, covers, digestOf, Tokens, tokensOf } from "./admission.ts";
import { Problem } from "./problem.ts";

type Headers = Readonly<Record<string, string>>;

const request = (headers: Headers, verb = "GET") => ({
  verb,
  header: (name: string) => headers[name],
});

const refusalOf = (asked: AdminRequest, tokens = new Tokens([])): Problem | undefined => {
  const operator = admitted(asked, tokens);
  return operator instanceof Problem ? operator : undefined;
};

describe("with a token", () => {
  const token = tokensOf({ token: "0123456789abcdef" });

  it.each([
    { authorization: "Bearer 0123456789abcdef", want: undefined },
    { authorization: "bearer  0123456789abcdef ", want: undefined },
    { authorization: "Bearer 0123456789abcdeF", want: 401 },
    { authorization: "Bearer 0123456789abcdef0", want: 401 },
    { authorization: "Bearer ", want: 401 },
    { authorization: "Basic 0123456789abcdef", want: 401 },
    { authorization: "0123456789abcdef", want: 401 },
    { authorization: undefined, want: 401 },
  ])("$authorization answers $want", ({ authorization, want }) => {
    const headers: Headers = authorization === undefined ? {} : { authorization };
    expect(refusalOf(request(headers), token)?.status).toBe(want);
  });

  it("other hosts and pages are answered: no page can make a browser send it", () => {
    const headers = {
      authorization: "Bearer 0123456789abcdef",
      host: "gateway.example.com",
      origin: "https://dashboard.example.com",
    };
    expect(refusalOf(request(headers, "POST"), token)).toBeUndefined();
  });
});

describe("without a token", () => {
  it.each([
    "localhost:8546",
    "localhost",
    "127.0.0.1:8546",
    "127.1.2.3",
    "[::1]:8546",
    "LocalHost:1",
  ])("Host %s is this machine", (host) => {
    expect(refusalOf(request({ host }))).toBeUndefined();
  });

  it.each([
    { host: "evil.example.com" }, // this name may resolve to 127.0.0.1 by now
    { host: "127.0.0.1.example.com:8546" },
    { host: "localhost.example.com" },
    { host: "10.0.0.1:8546" },
    { host: "" },
    {},
    { host: "localhost:8546", origin: "https://evil.example.com" },
    { host: "localhost:8546", origin: "http://localhost:3000" },
    { host: "localhost:8546", origin: "https://localhost:8546" },
    { host: "localhost:8546", origin: "null" },
    { host: "localhost:8546", "sec-fetch-site": "cross-site" },
    { host: "localhost:8546", "sec-fetch-site": "same-site" },
  ])("%j is refused", (headers: Headers) => {
    expect(refusalOf(request(headers))?.status).toBe(403);
  });

  it("a page that came from here is answered", () => {
    const headers = {
      host: "localhost:8546",
      origin: "http://localhost:8546",
      "sec-fetch-site": "same-origin",
    };
    expect(refusalOf(request(headers))).toBeUndefined();
  });

  it.each([
    { type: "application/json", want: undefined },
    { type: "application/json; charset=utf-8", want: undefined },
    // The types that a form can send without permission (CORS).
    { type: "text/plain", want: 415 },
    { type: "application/x-www-form-urlencoded", want: 415 },
    { type: "text/plain; application/json", want: 415 },
    { type: undefined, want: 415 },
  ])("a change sent as $type answers $want", ({ type, want }) => {
    const headers: Headers = { host: "localhost", ...(type ? { "content-type": type } : {}) };
    for (const verb of ["POST", "PATCH", "DELETE"])
      expect(refusalOf(request(headers, verb))?.status).toBe(want);
  });
});

describe("tokens of several operators", () => {
  const hash = "sha256:c2fb6fa1f0eb8d4bab5e2bde4eefa8d8c1d3f5f4bb0ea8b0c29cd5fdd5a7ad0e";
  const tokens = tokensOf({
    token: "0123456789abcdef",
    tokens: [
      { name: "grafana", role: "read", hash },
      {
        name: "ci",
        role: "keys",
        hash: "sha256:d6d1d4b7b4b1c6221ff82fc68417ffa429118e6087cba617416b2b0a92732607",
      },
    ],
  });
  const asked = (text: string) => request({ authorization: `Bearer ${text}` });

  it("have a name and a role each", () => {
    expect(admitted(asked("a-token-of-the-ci"), tokens)).toMatchObject({
      name: "ci",
      role: "keys",
    });
    expect(admitted(asked("0123456789abcdef"), tokens)).toMatchObject({
      name: "admin",
      role: "all",
    });
    expect(admitted(asked(hash), tokens)).toBeInstanceOf(Problem);
    expect(admitted(request({ host: "localhost" }), tokens)).toBeInstanceOf(Problem);
  });

  it.each([
    ["read", "read", true],
    ["read", "keys", false],
    ["read", "all", false],
    ["keys", "read", true],
    ["keys", "keys", true],
    ["keys", "all", false],
    ["all", "read", true],
    ["all", "keys", true],
    ["all", "all", true],
  ] as const)("the role %s has what %s needs: %s", (role, needed, want) => {
    expect(covers(role, needed)).toBe(want);
  });
});

describe("a session's token", () => {
  const known = tokensOf({ token: "0123456789abcdef" });
  const page = request({ host: "localhost:8546" });

  it("is asked for at each request: a reload may have taken it away", () => {
    const digest = digestOf("0123456789abcdef");
    expect(admitted(page, known, digest)).toMatchObject({ name: "admin", role: "all" });
    expect(admitted(page, tokensOf({ token: "another-one-of-16" }), digest)).toBeInstanceOf(
      Problem,
    );
  });
});
