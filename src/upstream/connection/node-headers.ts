// The headers of the gateway's requests to a node, over HTTP and in the handshake of a WebSocket. Also decides whether a
// node is asked for compressed answers: over a local link, decompression takes longer than the bytes that it saves.
import { BlockList, isIP } from "node:net";
import { unescape as percentDecoded } from "node:querystring";
import manifest from "../../../package.json" with { type: "json" };
import type { UpstreamSettings } from "../../config/schema.ts";

export type NodeHeadersOptions = Pick<UpstreamSettings, "url" | "headers"> &
  Partial<Pick<UpstreamSettings, "compression">>;

/** How the gateway names itself to nodes: some services refuse requests without a name. */
const USER_AGENT = `headgate/${manifest.version}`;

/** The codings of answers that `decoderOf` knows. The service chooses. */
const ACCEPTED = "gzip, br, zstd";

/** The headers of each request over HTTP, with names in lower case. The operator's own headers win. */
export function httpHeaders(options: NodeHeadersOptions): Record<string, string> {
  const { compression = "auto" } = options;
  const url = new URL(options.url);
  const asks = compression === "on" || (compression === "auto" && !isLocal(url));
  return {
    "content-type": "application/json",
    "user-agent": USER_AGENT,
    ...(asks ? { "accept-encoding": ACCEPTED } : {}),
    ...basicAuthentication(url),
    ...inLowerCase(options.headers),
  };
}

/** The headers of a WebSocket's handshake. `ws` itself sends the user and the password of the URL. */
export const handshakeHeaders = ({ headers }: Pick<NodeHeadersOptions, "headers">) => ({
  "user-agent": USER_AGENT,
  ...inLowerCase(headers),
});

/** Headers in lower case, so that the operator's `Authorization` replaces that of the URL and is not sent beside it. */
const inLowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function basicAuthentication({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`; // never throws, unlike decodeURIComponent
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** Loopback, private and link-local addresses (RFC 1122, 1918, 3927, 4193, 4291), and shared ones (RFC 6598). */
const LOCAL = new BlockList();
for (const [address, bits] of [
  ...([
    ["127.0.0.0", 8],
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ] as const),
  ...([
    ["169.254.0.0", 16],
    ["100.64.0.0", 10],
  ] as const),
] as const)
  LOCAL.addSubnet(address, bits, "ipv4");
for (const [address, bits] of [
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  LOCAL.addSubnet(address, bits, "ipv6");

/** Names that no public server has: of one label as in a network of containers, or reserved (RFC 6761, 6762). */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|home\.arpa)$/i;

/** Whether a URL's host is this machine or in its own network, by its text alone. */
export function isLocal({ hostname }: Pick<URL, "hostname">): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, "");
  const version = isIP(host);
  return version === 0 ? LOCAL_NAME.test(host) : LOCAL.check(host, version === 4 ? "ipv4" : "ipv6");
}
