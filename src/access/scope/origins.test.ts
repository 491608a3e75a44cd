import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { originMatcher } from "./origins.ts";

/** Another one that may be inside, or only looks so. */
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
