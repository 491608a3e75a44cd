// A list of IP addresses and ranges, prepared for being asked on every request.
import { BlockList } from "node:net";
import { plainAddress } from "./ip-address.ts";

/** Bits of IPv6 before an IPv4 address that is mapped into it. */
const MAPPED_BITS = 96;

/**
 * Whether an address is in one of `ranges` (`10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`). Families do
 * not mix: `::/0` is all of IPv6. IPv4 addresses that are mapped into IPv6 count as IPv4, also in ranges.
 *
 * @returns A test for plain addresses (`plainAddress`).
 */
export function addressMatcher(ranges: readonly string[]): (address: string) => boolean {
  // One list a family: Node's own would compare IPv4 with mapped IPv6, and `::/0` with both.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const { family, address, bits } = readRange(range);
    lists[family].addSubnet(address, bits, family);
  }
  return (address) => {
    const family = address.includes(":") ? "ipv6" : "ipv4";
    return lists[family].check(address, family);
  };
}

type Range = { readonly family: "ipv4" | "ipv6"; readonly address: string; readonly bits: number };

/** The configuration and the key book let well-formed ranges through only. */
function readRange(range: string): Range {
  const [written = "", length] = range.split("/");
  const address = plainAddress(written);
  if (address === undefined) throw new Error(`${range} is no IP address or range`);
  if (address.includes(":")) return { family: "ipv6", address, bits: Number(length ?? 128) };
  if (!written.includes(":")) return { family: "ipv4", address, bits: Number(length ?? 32) };
  const bits = Number(length ?? 128);
  // Wider than the mapped addresses: a range of IPv6, in which nobody is any more.
  return bits < MAPPED_BITS
    ? { family: "ipv6", address: written, bits }
    : { family: "ipv4", address, bits: bits - MAPPED_BITS };
}
