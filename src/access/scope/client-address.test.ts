import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addressMatcher,
  clientAddress,
  type ForwardedHeader,
  plainAddress,
  subscriberOf,
} from "./client-address.ts";

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

const covers = (ranges: readonly string[], address: string): boolean =>
  addressMatcher(ranges)(plainAddress(address) ?? "");

describe("a list of addresses", () => {
  it.each([
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.1.2.3/8", "10.9.9.9", true],
    ["192.0.2.7", "192.0.2.7", true],
    ["192.0.2.7", "192.0.2.8", false],
    ["0.0.0.0/0", "203.0.113.9", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["::/0", "2001:db8::1", true],
    ["::/0", "203.0.113.9", false],
    ["2001:db8::/33", "2001:db8:7fff::1", true],
    ["2001:db8::/33", "2001:db8:8000::1", false],
    ["2001:DB8:0:0::1", "2001:db8::1", true],
    ["10.0.0.0/8", "::ffff:10.0.0.1", true],
    ["10.0.0.0/8", "::ffff:a00:1", true],
    ["::ffff:10.0.0.0/104", "10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "11.1.2.3", false],
    ["::ffff:0:0/96", "203.0.113.9", true],
    ["fe80::/10", "fe80::1%eth0", true],
  ])("%s covers %s: %s", (range, address, want) => {
    expect(covers([range], address)).toBe(want);
  });

  it("covers nobody when it is empty, and nothing that is no address", () => {
    expect(covers([], "10.0.0.1")).toBe(false);
    expect(covers(["0.0.0.0/0", "::/0"], "somebody")).toBe(false);
  });

  it("agrees with arithmetic, in both families", () => {
    const family = fc.constantFrom(
      { width: 32, text: dotted, least: 0n },
      // Above the IPv4-mapped addresses.
      { width: 128, text: colons, least: 2n ** 120n },
    );
    const asked = family.chain(({ width, text, least }) =>
      fc.record({
        width: fc.constant(width),
        text: fc.constant(text),
        base: fc.bigInt({ min: least, max: 2n ** BigInt(width) - 1n }),
        bits: fc.integer({ min: 0, max: width }),
        // One flipped bit makes addresses at the edge of the range common.
        flip: fc.integer({ min: 0, max: width - 1 }),
      }),
    );
    fc.assert(
      fc.property(asked, ({ width, text, base, bits, flip }) => {
        const address = base ^ (1n << BigInt(flip));
        const rest = BigInt(width - bits);
        const want = base >> rest === address >> rest;
        expect(covers([`${text(base)}/${bits}`], text(address))).toBe(want);
      }),
      { examples: [[{ width: 32, text: dotted, base: 0n, bits: 0, flip: 31 }]] },
    );
  });
});

const dotted = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");

const colons = (value: bigint): string =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n]
    .map((shift) => (value >> shift) & 65_535n)
    .map((group) => group.toString(16))
    .join(":");

describe("an address", () => {
  it.each([
    ["2001:db8:0:0::1", "2001:db8::1"],
    ["[::1]", "::1"],
    ["fe80::1%eth0", "FE80::1"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::192.0.2.7", "::c000:207"],
  ])("%s is the same as %s", (one, other) => {
    expect(plainAddress(one)).toBe(plainAddress(other));
    expect(plainAddress(one)).toBeDefined();
  });

  it.each(["", "unknown", "192.0.2", "192.0.2.7/8", "[192.0.2.7]", "[::1", "1:2:3", "0x7f.1"])(
    "is not %s",
    (text) => {
      expect(plainAddress(text)).toBeUndefined();
    },
  );

  it("of IPv6 belongs to its /64, one of IPv4 to itself", () => {
    const subscriber = (text: string): string => subscriberOf(plainAddress(text) ?? "");
    expect(subscriber("2001:db8::1")).toBe(subscriber("2001:db8::ffff:1"));
    expect(subscriber("2001:db8::1")).not.toBe(subscriber("2001:db8:0:1::1"));
    expect(subscriber("192.0.2.7")).not.toBe(subscriber("192.0.2.8"));
  });
});
