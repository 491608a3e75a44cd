// Who calls: the socket's address, or behind proxies that are trusted, what these tell.
import type { IncomingMessage } from "node:http";
import { addressMatcher } from "./address-list.ts";
import { plainAddress } from "./ip-address.ts";

/** The header in which trusted proxies tell who called them; callers may send the other one. */
export type ForwardedHeader = "x-forwarded-for" | "forwarded";

export type ProxySettings = {
  readonly trustedProxies: readonly string[];
  readonly forwardedHeader: ForwardedHeader;
};

export type RequestSource = {
  readonly headers: IncomingMessage["headers"];
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/**
 * Each proxy appends the address that it saw, so the header is read from its end: the first address that
 * is no trusted proxy's called. What is left of it was told by the caller.
 *
 * @returns The plain address of a request's caller; undefined when its socket is gone.
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
      const told = readEntry(entry);
      // Unreadable, or hidden on purpose: all that is known is the proxy that told it.
      if (told === undefined) return address;
      address = told;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

/** The parts between commas, last one first; commas in quotes are none. */
function* fromTheEnd(header: string): Generator<string> {
  let end = header.length;
  let isQuoted = false;
  // From the end, so that a quote which the caller opened does not swallow what a proxy appended.
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

/** The node of an element's `for` (RFC 7239): an address; not `unknown`, not an invented name. */
function forElement(element: string): string | undefined {
  const nodes = element
    .split(";")
    .map((pair) => /^\s*for\s*=(.*)$/i.exec(pair)?.[1]?.trim())
    .filter((told) => told !== undefined);
  const [node, second] = nodes;
  return node === undefined || second !== undefined ? undefined : listed(node);
}
