// IP addresses as text: one text for one address, whatever way it was written.
import { isIPv4, isIPv6 } from "node:net";

/**
 * The address without brackets and zone; an IPv4 address that was mapped into IPv6 as IPv4. undefined
 * for what is no address.
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

/** What one subscriber has: an IPv4 address, or the /64 around an IPv6 address. For plain addresses. */
export const subscriberOf = (address: string): string =>
  address.includes(":") ? `${address.split(":", 4).join(":")}::/64` : address;

/** How Node tells of IPv4 callers on an IPv6 socket. */
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

/** An IPv4 address as two groups. */
function halvesOf(text: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}

const isMapped = (groups: readonly number[]): boolean =>
  groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);

const dotted = ([, , , , , , high = 0, low = 0]: readonly number[]): string =>
  [high >> 8, high & 255, low >> 8, low & 255].join(".");
