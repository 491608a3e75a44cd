// The address of a caller: of its socket, or as trusted proxies report it. Also addresses as text, and lists of ranges.

import type { IncomingMessage } from "node:http";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { Config } from "../../config/schema.ts";

/** The header in which trusted proxies report their callers' addresses. The other header may be a caller's own. */
export type ForwardedHeader = "x-forwarded-for" | "forwarded";

export type ProxySettings = Pick<Config["listen"], "trustedProxies" | "forwardedHeader">;

export type RequestSource = {
  readonly headers: IncomingMessage["headers"];
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/**
 * Each proxy appends the address that it saw. So the header is read from its end: the first address that is not a
 * trusted proxy's is the caller's. The caller could have invented all entries before that address.
 * @returns A function for the plain address of a request's caller; undefined when the request's socket is gone.
 */
export function clientAddress({
  trustedProxies,
  forwardedHeader,
}: ProxySettings): (request: RequestSource) => string | undefined {
  const isTrusted = addressMatcher(trustedProxies);
  const readEntry = forwardedHeader === "forwarded" ? forElement : listed;
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? "");
    if (trustedProxies.length === 0 || address === undefined || !isTrusted(address)) return address;
    for (const entry of fromTheEnd(String(headers[forwardedHeader] ?? ""))) {
      const named = readEntry(entry);
      // The entry is unreadable, or hides the address: only the address of the proxy that wrote the entry is known.
      if (named === undefined) return address;
      address = named;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

/** The parts between commas, the last part first. Commas in quotes do not separate. */
function* fromTheEnd(header: string): Generator<string> {
  let end = header.length;
  let isQuoted = false;
  // Read from the end, so that a quote which the caller opened does not swallow the entries that proxies appended.
  for (let at = end - 1; at >= 0; at -= 1) {
    if (header[at] === '"') isQuoted = !isQuoted;
    if (header[at] !== "," || isQuoted) continue;
    yield header.slice(at + 1, end).trim();
    end = at;
  }
  yield header.slice(0, end).trim();
}

/** An entry of X-Forwarded-For, with or without a port. */
const listed = (entry: string): string | undefined => plainAddress(entry) ?? withPort(entry);

function withPort(entry: string): string | undefined {
  const text = entry.replace(/^"(.*)"$/, "$1");
  const [, inBrackets, bare] = /^(?:(\[.*\])(?::\d{1,5})?|([^:]+):\d{1,5})$/.exec(text) ?? [];
  return plainAddress(inBrackets ?? bare ?? text);
}

/** The address in an element's `for` (RFC 7239); undefined for `unknown` and for obfuscated names. */
function forElement(element: string): string | undefined {
  const nodes = element
    .split(";")
    .map((pair) => /^\s*for\s*=(.*)$/i.exec(pair)?.[1]?.trim())
    .filter((named) => named !== undefined);
  const [node, second] = nodes;
  return node === undefined || second !== undefined ? undefined : listed(node);
}

/**
 * The same text for all spellings of an address: without brackets and zone, and an IPv4-mapped IPv6 address as IPv4.
 * Undefined for a text that is no address.
 */
export function plainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length)))
    return text.slice(MAPPED.length);
  const [address = ""] = (/^\[(.*)\]$/.exec(text)?.[1] ?? text).split("%", 1);
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address);
  return isMapped(groups) ? dotted(groups) : groups.map((group) => group.toString(16)).join(":");
}

/** The addresses of one subscriber: a plain IPv4 address itself, or the /64 around a plain IPv6 address. */
export const subscriberOf = (address: string): string =>
  address.includes(":") ? `${address.split(":", 4).join(":")}::/64` : address;

/** The prefix that Node writes before IPv4 addresses on an IPv6 socket. */
const MAPPED = "::ffff:";

/** The eight groups of an IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  const [before = "", after] = address.split("::");
  const left = groupsIn(before);
  if (after === undefined) return left;
  const right = groupsIn(after);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

const groupsIn = (text: string): number[] =>
  text === ""
    ? []
    : text
        .split(":")
        .flatMap((group) => (group.includes(".") ? halvesOf(group) : [Number.parseInt(group, 16)]));

/** An IPv4 address as two groups of IPv6. */
function halvesOf(text: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}

const isMapped = (groups: readonly number[]): boolean =>
  groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);

const dotted = ([, , , , , , high = 0, low = 0]: readonly number[]): string =>
  [high >> 8, high & 255, low >> 8, low & 255].join(".");

/** The bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const MAPPED_BITS = 96;

/**
 * Whether an address is in one of `ranges` (`10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`). Families do not mix: `::/0` is
 * all of IPv6 alone. IPv4-mapped IPv6 addresses count as IPv4, also in ranges.
 * @returns A test for plain addresses (`plainAddress`).
 */
export function addressMatcher(ranges: readonly string[]): (address: string) => boolean {
  // One list for each family: a single BlockList would match IPv4 with IPv4-mapped IPv6, and `::/0` with both.
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

/** Reads a well-formed range: the configuration and the key book refuse others. */
function readRange(range: string): Range {
  const [written = "", length] = range.split("/");
  const address = plainAddress(written);
  if (address === undefined) throw new Error(`${range} is no IP address or range`);
  if (address.includes(":")) return { family: "ipv6", address, bits: Number(length ?? 128) };
  if (!written.includes(":")) return { family: "ipv4", address, bits: Number(length ?? 32) };
  const bits = Number(length ?? 128);
  // A range that is wider than ::ffff:0:0/96 counts as IPv6. No IPv4 caller is in it: `plainAddress` unmaps addresses.
  return bits < MAPPED_BITS
    ? { family: "ipv6", address: written, bits }
    : { family: "ipv4", address, bits: bits - MAPPED_BITS };
}
