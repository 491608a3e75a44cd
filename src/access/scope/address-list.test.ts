import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressMatcher } from "./address-list.ts";
import { plainAddress, subscriberOf } from "./ip-address.ts";

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
      // Above the addresses that are mapped from the other family.
      { width: 128, text: colons, least: 2n ** 120n },
    );
    const asked = family.chain(({ width, text, least }) =>
      fc.record({
        width: fc.constant(width),
        text: fc.constant(text),
        base: fc.bigInt({ min: least, max: 2n ** BigInt(width) - 1n }),
        bits: fc.integer({ min: 0, max: width }),
        // A difference in one bit, so that addresses at the edge of the range are common.
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
