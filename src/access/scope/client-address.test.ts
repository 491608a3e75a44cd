import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientAddress, type ForwardedHeader } from "./client-address.ts";

const TRUSTED = ["10.0.0.0/8", "fd00::/8"];

const clientOf = (
  socket: string,
  header: string | undefined,
  forwardedHeader: ForwardedHeader = "x-forwarded-for",
): string | undefined =>
  clientAddress({ trustedProxies: TRUSTED, forwardedHeader })({
    socket: { remoteAddress: socket },
    headers: { [forwardedHeader]: header },
  });

describe("who calls", () => {
  it("is the socket, when no proxy is trusted", () => {
    const client = clientAddress({ trustedProxies: [], forwardedHeader: "x-forwarded-for" });
    const headers = { "x-forwarded-for": "192.0.2.1" };
    expect(client({ socket: { remoteAddress: "10.0.0.1" }, headers })).toBe("10.0.0.1");
    expect(client({ socket: { remoteAddress: "::ffff:10.0.0.1" }, headers })).toBe("10.0.0.1");
    expect(client({ socket: { remoteAddress: undefined }, headers })).toBeUndefined();
  });

  it.each([
    ["a stranger's header is ignored", "203.0.113.9", "192.0.2.1", "203.0.113.9"],
    ["a trusted proxy is believed", "10.0.0.1", "192.0.2.1", "192.0.2.1"],
    ["so are several", "10.0.0.1", "192.0.2.1, 10.0.0.3,10.0.0.2", "192.0.2.1"],
    ["what the caller wrote is not", "10.0.0.1", "198.51.100.1, 192.0.2.1", "192.0.2.1"],
    ["a proxy that tells nothing calls itself", "10.0.0.1", undefined, "10.0.0.1"],
    ["all are trusted: the first one calls", "10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"],
    ["ports do not matter", "10.0.0.1", "192.0.2.1:4711", "192.0.2.1"],
    ["IPv6 in brackets", "10.0.0.1", "[2001:db8::1]:443", "2001:db8:0:0:0:0:0:1"],
    ["IPv6 without", "10.0.0.1", "2001:db8::1", "2001:db8:0:0:0:0:0:1"],
    ["a zone is left out", "10.0.0.1", "fe80::1%eth0", "fe80:0:0:0:0:0:0:1"],
    ["a mapped proxy", "::ffff:10.0.0.1", "::ffff:192.0.2.1", "192.0.2.1"],
    ["what is no address ends the walk", "10.0.0.1", "192.0.2.1, junk, 10.0.0.2", "10.0.0.2"],
    ["also an empty entry", "10.0.0.1", "192.0.2.1,", "10.0.0.1"],
  ])("%s", (_, socket, header, want) => {
    expect(clientOf(socket, header)).toBe(want);
  });

  it.each([
    ["for=192.0.2.43", "192.0.2.43"],
    ['For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe:0:0:0:0:17"], // RFC 7239, section 4
    ["for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"],
    ["for=192.0.2.43, for=10.0.0.7", "192.0.2.43"],
    ['for=198.51.100.1, for="192.0.2.43:80" ; by=10.0.0.7', "192.0.2.43"],
    ["for=unknown", "10.0.0.1"],
    ["for=_gazonk", "10.0.0.1"],
    ["proto=https", "10.0.0.1"],
    ["for=192.0.2.1;for=192.0.2.2", "10.0.0.1"],
    ['for="198.51.100.1, for=192.0.2.43', "192.0.2.43"], // a quote that the caller left open
    ['for=198.51.100.1;x=", for=192.0.2.43', "192.0.2.43"],
  ])("in the Forwarded header %s is %s", (header, want) => {
    expect(clientOf("10.0.0.1", header, "forwarded")).toBe(want);
  });

  it("is not told by the header that is not configured", () => {
    const client = clientAddress({ trustedProxies: TRUSTED, forwardedHeader: "x-forwarded-for" });
    const headers = { forwarded: "for=192.0.2.1" };
    expect(client({ socket: { remoteAddress: "10.0.0.1" }, headers })).toBe("10.0.0.1");
  });

  it("cannot be chosen by the caller, whatever it writes before what the proxies append", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const proxies = fc.array(fc.tuple(byte, byte).map(([b, c]) => `10.0.${b}.${c}`));
    fc.assert(
      fc.property(fc.string(), proxies, fc.boolean(), (written, between, isForwarded) => {
        const name = isForwarded ? "forwarded" : "x-forwarded-for";
        const told = ["192.0.2.1", ...between].map((each) => (isForwarded ? `for=${each}` : each));
        expect(clientOf("10.9.9.9", [written, ...told].join(", "), name)).toBe("192.0.2.1");
      }),
    );
  });
});
