import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseConfig } from "./parse-config.ts";

const networks = {
  a: { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:8555" }] },
};

const mistakesIn = (admin: object, environment = {}): readonly string[] => {
  const parsed = parseConfig(stringify({ admin, networks }), environment);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

describe("the admin port beyond this machine", () => {
  it.each(["0.0.0.0", "::", "10.0.0.1", "gateway.internal", "localhost.example.com", "1270.0.0.1"])(
    "is refused on %s without a token",
    (host) => {
      expect(mistakesIn({ listen: { host } })).toEqual([
        `admin.token: missing; the admin port listens on ${host}, which other machines can reach, so it needs a token of at least 16 characters`,
      ]);
      expect(mistakesIn({ listen: { host }, token: "0123456789abcdef" })).toEqual([]);
    },
  );

  it.each(["127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST"])(
    "is not meant by %s, which needs no token",
    (host) => {
      expect(mistakesIn({ listen: { host } })).toEqual([]);
    },
  );
});

describe("a token that is no token", () => {
  const expected =
    "expected 16 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~', '+', '/' and '-'";

  it.each([
    { token: "too-short", got: "a text" },
    { token: "with spaces within it", got: "a text" },
    { token: 1234567890123456, got: "a number; put it in quotes" },
    { token: "", got: "a text" },
  ])("is refused without being shown: $token", ({ token, got }) => {
    expect(mistakesIn({ token })).toEqual([`admin.token: ${expected}, got ${got}`]);
  });

  it("is not taken for none where its variable is empty or not set", () => {
    const admin = { listen: { host: "0.0.0.0" }, token: "$" + "{TOKEN}" };
    expect(mistakesIn(admin)).toEqual(["admin.token: the environment variable TOKEN is not set"]);
    expect(mistakesIn(admin, { TOKEN: "" })).toHaveLength(1);
    expect(mistakesIn(admin, { TOKEN: "0123456789abcdef" })).toEqual([]);
  });
});
