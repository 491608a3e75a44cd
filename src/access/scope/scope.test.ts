import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CallRule,
  type GuardedMethod,
  originMatcher,
  Scope,
  type ScopeSettings,
} from "./scope.ts";

const scopeOf = (settings: Partial<ScopeSettings>): Scope =>
  new Scope({ limits: { logs: {} }, ...settings });

const request = (more: { network?: string; origin?: string; address?: string } = {}) => ({
  network: more.network ?? "main",
  origin: more.origin,
  address: () => more.address,
});

const call = (method: string, params: readonly unknown[] = [], declared: object = {}) => ({
  message: { method, params },
  method: { name: method, kind: "read", ...declared } as GuardedMethod,
});

const LISTED = `0x${"aB".repeat(20)}`;
const OTHER = `0x${"cd".repeat(20)}`;
/** One contract in the verbose form, as nodes write it, and in the short form (CIP-37). */
const VERBOSE = "CFX:TYPE.CONTRACT:ACC7UAWF5UBTNMEZVHU9DHC6SGHEA0403Y2DGPYFJP";
const SHORT = "cfx:acc7uawf5ubtnmezvhu9dhc6sghea0403y2dgpyfjp";
const readsFirst = { contractsOf: (params: readonly unknown[]) => params };

describe("a key without rules", () => {
  it("may be used for everything, from everywhere", () => {
    const scope = scopeOf({});
    expect(scope.forbidsRequest(request())).toBeUndefined();
    expect(
      scope.forbidsCall(call("eth_call", [], { contractsOf: () => undefined })),
    ).toBeUndefined();
    expect(scope.forbidsCall(call("x".repeat(1000)))).toBeUndefined();
    expect(scope.allowedOrigin(undefined)).toBe("*");
    expect([scope.largestBatch, scope.logBlocks]).toEqual([undefined, undefined]);
  });
});

describe("a request is forbidden by", () => {
  it.each([
    ["networks", { networks: ["test"] }, {}, { network: "test" }],
    ["origins", { origins: ["*.example.com"] }, {}, { origin: "https://a.example.com" }],
    ["addresses", { addresses: ["10.0.0.0/8"] }, { address: "192.0.2.1" }, { address: "10.1.1.1" }],
    ["addresses", { addresses: ["10.0.0.0/8"] }, { address: undefined }, { address: "10.1.1.1" }],
    ["addresses", { addresses: [] }, { address: "192.0.2.1" }, undefined],
  ] as const)("%s: %j", (rule, settings, wrong, right) => {
    expect(scopeOf(settings).forbidsRequest(request(wrong as object))).toBe(rule);
    if (right) expect(scopeOf(settings).forbidsRequest(request(right))).toBeUndefined();
  });

  it("no address when it is bound to none: the address is not looked for", () => {
    const address = (): never => {
      throw new Error("looked for");
    };
    expect(scopeOf({}).forbidsRequest({ ...request(), address })).toBeUndefined();
  });
});

describe("a call is forbidden by", () => {
  const contracts = { contracts: [LISTED.toLowerCase(), VERBOSE.toLowerCase()] };
  it.each([
    ["methods", { methods: ["eth_get*", "net_version"] }, call("eth_call")],
    [undefined, { methods: ["eth_get*", "net_version"] }, call("eth_getCode")],
    [undefined, { methods: ["eth_get*", "net_version"] }, call("net_version")],
    ["methods", { methods: [] }, call("eth_call")],
    ["readOnly", { readOnly: true }, call("eth_sendRawTransaction", [], { kind: "write" })],
    [undefined, { readOnly: false }, call("eth_sendRawTransaction", [], { kind: "write" })],
    ["readOnly", { readOnly: true }, call("evm_mine", [], { kind: "node control" })],
    ["methods", { methods: ["*", "debug_*"] }, call("debug_setHead", [], { kind: "node control" })],
    [
      undefined,
      { methods: ["debug_setHead"] },
      call("debug_setHead", [], { kind: "node control" }),
    ],
    [undefined, { readOnly: true }, call("eth_call")],
    [undefined, contracts, call("eth_blockNumber")],
    [undefined, contracts, call("eth_getCode", [LISTED], readsFirst)],
    [undefined, contracts, call("eth_getCode", [LISTED.toLowerCase()], readsFirst)],
    ["contracts", contracts, call("eth_getCode", [OTHER], readsFirst)],
    ["contracts", contracts, call("eth_getCode", [LISTED, OTHER], readsFirst)],
    ["contracts", contracts, call("eth_getCode", [LISTED.slice(2)], readsFirst)],
    ["contracts", contracts, call("eth_getCode", [undefined], readsFirst)],
    ["contracts", contracts, call("eth_getCode", [{ length: 42 }], readsFirst)],
    ["contracts", contracts, call("eth_call", [], { contractsOf: () => undefined })],
    [undefined, contracts, call("cfx_getCode", [VERBOSE], readsFirst)],
    [undefined, contracts, call("cfx_getCode", [SHORT], readsFirst)],
    [undefined, contracts, call("cfx_getCode", [SHORT.toUpperCase()], readsFirst)],
    [undefined, contracts, call("cfx_getCode", [SHORT.replace(":", ":a.b:")], readsFirst)],
    ["contracts", contracts, call("cfx_getCode", [SHORT.replace("0403", "0404")], readsFirst)],
    ["contracts", { contracts: ["cfx:junk"] }, call("cfx_getCode", ["junk"], readsFirst)],
    ["contracts", { contracts: [] }, call("eth_getCode", [LISTED], readsFirst)],
  ] as const)("%s: %j %j", (rule: CallRule | undefined, settings, asked) => {
    expect(scopeOf(settings).forbidsCall(asked)).toBe(rule);
  });

  it("nothing when the network has no such method: it is answered as such", () => {
    const asked = { message: { method: "eth_nothing", params: [] }, method: undefined };
    expect(scopeOf({ readOnly: true, contracts: [] }).forbidsCall(asked)).toBeUndefined();
  });
});

describe("what a key offers", () => {
  it("leaves out what it may not call in any way", () => {
    const scope = scopeOf({ methods: ["eth_*"], readOnly: true });
    expect(scope.offers({ name: "eth_call", kind: "read" })).toBe(true);
    expect(scope.withholds({ name: "net_version", kind: "read" })).toBe("methods");
    expect(scope.withholds({ name: "eth_sendRawTransaction", kind: "write" })).toBe("readOnly");
  });
});

describe("a pattern of methods", () => {
  it("covers exactly the names that it spells with something for each star", () => {
    const part = fc.stringMatching(/^[a-zA-Z_.]{0,5}$/);
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 4 }), part, (parts, filling) => {
        const scope = scopeOf({ methods: [parts.join("*")] });
        const allows = (name: string): boolean => scope.offers({ name, kind: "read" });
        expect(allows(parts.join(filling))).toBe(true);
        expect(allows(`${parts.join(filling)}-`)).toBe(parts.at(-1) === "");
        expect(allows(`-${parts.join(filling)}`)).toBe(parts[0] === "");
      }),
    );
  });
});

/** A domain, and another name that is inside that domain, or only looks so. */
const domainAndOther = fc.domain().chain((domain) =>
  fc.tuple(
    fc.constant(domain),
    fc.oneof(
      fc.domain(),
      fc.stringMatching(/^([a-z0-9]{1,5}\.){1,3}$/).map((labels) => labels + domain),
      fc.stringMatching(/^[a-z0-9]{1,5}$/).map((label) => label + domain),
      fc.domain().map((end) => `${domain}.${end}`),
    ),
  ),
);

describe("origins", () => {
  it.each([
    ["https://app.example.com", "https://app.example.com", true],
    ["https://app.example.com", "https://APP.example.com", true],
    ["https://app.example.com", "http://app.example.com", false],
    ["https://app.example.com", "https://app.example.com:8443", false],
    ["https://app.example.com:443", "https://app.example.com", true],
    ["http://localhost:3000", "http://localhost:3000", true],
    ["http://localhost:3000", "http://localhost:3001", false],
    ["https://*.example.com", "https://a.b.example.com", true],
    ["https://*.example.com", "https://example.com", false],
    ["https://*.example.com", "https://.example.com", false],
    ["https://*.example.com", "https://badexample.com", false],
    ["https://*.example.com", "https://evil.com/.example.com", false],
    ["https://*.example.com", "https://evil.com#.example.com", false],
    ["https://*.example.com", "https://user@a.example.com", false],
    ["*.example.com", "https://a.example.com", true],
    ["*.example.com", "http://a.example.com:8080", true],
    ["*.example.com", "https://example.com", false],
    ["*.example.com", "https://example.com.evil.org", false],
    ["app.example.com", "https://app.example.com", true],
    ["app.example.com", "http://app.example.com:8080", true],
    ["app.example.com", "https://a.app.example.com", false],
    ["app.example.com:8080", "http://app.example.com:8080", true],
    ["app.example.com:8080", "http://app.example.com", false],
    ["localhost", "capacitor://localhost", true],
    ["app.example.com", "app.example.com", false],
    ["app.example.com", "null", false],
    ["*", "null", true],
    ["*", undefined, false],
  ])("%s covers %s: %s", (pattern, origin, want) => {
    expect(originMatcher([pattern])(origin)).toBe(want);
  });

  it("of any page outside the domain are not covered by it", () => {
    fc.assert(
      fc.property(domainAndOther, ([domain, other]) => {
        const isInside = other.toLowerCase().endsWith(`.${domain.toLowerCase()}`);
        expect(originMatcher([`*.${domain}`])(`https://${other}`)).toBe(isInside);
        expect(originMatcher([`*.${domain}`])(`https://www.${domain}`)).toBe(true);
        expect(originMatcher([`*.${domain}`])(`https://${domain}`)).toBe(false);
      }),
    );
  });
});
