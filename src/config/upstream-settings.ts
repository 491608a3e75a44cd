// The settings of a network's upstreams, and the default names of upstreams in logs and metrics.
import { z } from "zod";
import { withoutKeys } from "./host-keys.ts";
import { amount, duration, mappingOf, oneOf, textOf, trueOrFalse, wholeNumber } from "./units.ts";

const schemes = new Set(["http:", "https:", "ws:", "wss:", "ipc:"]);
const expectedUrl = "expected a URL with http, https, ws, wss or ipc";

const label = textOf(/^[a-zA-Z0-9._-]+$/, "letters, digits, '.', '_' and '-'");

const headers = mappingOf(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
  textOf(/^[\t\x20-\x7e\x80-\xff]*$/, "each header to be a text that fits in one line"),
  "one of the names is not a valid header name",
);

const rate = z
  .strictObject({
    perSecond: amount(0.001)
      .optional()
      .describe(
        "The most calls, or credits of the vendor, a second. Left out: learned from the node's refusals.",
      ),
    burst: amount(1)
      .optional()
      .describe(
        "The most calls or credits that may be sent at once after a silence. Left out: a quarter of perSecond.",
      ),
    perMonth: wholeNumber(1)
      .optional()
      .describe(
        "The most calls or credits in a calendar month (UTC); beyond it the upstream is not asked until the next month.",
      ),
    costs: z
      .record(z.string(), amount(0))
      .optional()
      .describe("The vendor's credits that a call costs, by method or pattern. Other calls: 1."),
  })
  .describe("The rates at which calls may be sent to the upstream.");

/** An upstream as it is written in the file. */
const written = z.strictObject({
  url: z
    .string({ error: expectedUrl })
    .refine((text) => schemes.has(URL.parse(text)?.protocol ?? "") && !/\s/.test(text), {
      error: expectedUrl,
    })
    .refine((text) => !/^ipc:\/\/[^/]/i.test(text), {
      error: "expected three slashes before the path of a socket: ipc:///path/to/node.ipc",
    })
    .describe(
      "The URL of the node: http, https, ws, wss, or ipc:///path of a socket. It may contain secrets, and is never shown.",
    ),
  name: label
    .optional()
    .describe(
      "The upstream's name in logs and metrics; unique in the network. Left out: the host name of its URL without the labels that may be a key, with the port where another upstream has the same host.",
    ),
  headers: headers.prefault({}).describe("Headers of every request to the upstream; never shown."),
  connections: wholeNumber(1).prefault(64).describe("The most connections to the upstream."),
  timeout: duration.prefault("20s").describe("The time for the upstream to answer one request."),
  vendor: label
    .optional()
    .describe(
      "The company that runs the upstream: agreement is sought among different vendors. Left out: the domain of the URL, or else the name.",
    ),
  weight: amount(0)
    .prefault(1)
    .describe(
      "The share of the calls: of two equal nodes, the one of weight 2 gets twice as many as the one of weight 1; 0: asked only when no other can answer.",
    ),
  price: amount(0)
    .prefault(0)
    .describe(
      "The price of a call, in any unit: of two healthy nodes the gateway asks the cheaper one.",
    ),
  rate: rate.prefault({}),
  batch: wholeNumber(1, 1000)
    .optional()
    .describe(
      "The most calls of one key that go to the upstream as one HTTP request when they begin together; 1: each call goes by itself. Left out: as many as the upstream takes well, which the gateway learns.",
    ),
  compression: oneOf("auto", "on", "off")
    .prefault("auto")
    .describe(
      "Whether the upstream is asked over HTTP to compress its answers (gzip, br, zstd). auto: unless its URL has a loopback or private address, or a name without a public domain. Compressed answers are read in any case.",
    ),
  private: trueOrFalse
    .prefault(false)
    .describe(
      "Whether the upstream keeps transactions to itself until they are mined. In a network with such upstreams, transactions go to these alone; if `broadcast` is set, they go to all others instead.",
    ),
  probe: trueOrFalse
    .prefault(true)
    .describe(
      "Whether the gateway probes the upstream's capabilities, once for each of its versions.",
    ),
});

/** The settings that `defaults` may set for all upstreams. */
export const upstreamDefaults = written.omit({ url: true, name: true }).partial();

const upstream = written.transform(({ timeout, private: isPrivate, ...settings }) => ({
  ...settings,
  isPrivate,
  timeoutMs: timeout,
}));

/** A list of at least one upstream. Each has a name and a vendor after the parse. */
export const upstreams = z
  .array(upstream)
  .min(1, { error: "at least one upstream is needed" })
  .transform((list) => withNames(list));

/**
 * Names an upstream without a name after its host; if several have the same host, after host and port; if these are the
 * same too, with `-2`, `-3` … in the order of their URLs. So a reordered list has the same names.
 */
function withNames<
  Upstream extends { url: string; name?: string | undefined; vendor?: string | undefined },
>(list: readonly Upstream[]): (Upstream & { name: string; vendor: string })[] {
  const taken = new Set(list.map(({ name }) => name));
  const unnamed = list.filter(({ name }) => name === undefined);
  const byHost = Map.groupBy(unnamed, ({ url }) => hostName(url));
  const portsByHost = new Map(
    [...byHost].map(([host, its]) => [host, new Set(its.map(({ url }) => portOf(url)))]),
  );
  const names = new Map<Upstream, string>();
  for (const entry of unnamed.toSorted((one, other) => (one.url < other.url ? -1 : 1))) {
    const name = firstFree(placeName(entry.url, portsByHost), taken);
    taken.add(name);
    names.set(entry, name);
  }
  return list.map((entry) => {
    const name = entry.name ?? names.get(entry) ?? "";
    return { ...entry, name, vendor: entry.vendor ?? domainOf(entry.url) ?? name };
  });
}

/** The host, with its port if another upstream has the same host and another port. */
function placeName(url: string, portsByHost: ReadonlyMap<string, ReadonlySet<string>>): string {
  const host = hostName(url);
  return (portsByHost.get(host)?.size ?? 0) > 1 ? `${host}:${portOf(url)}` : host;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "ws:": "80" };

/** The port of a URL; empty for an IPC socket. */
function portOf(url: string): string {
  const { protocol = "", port = "" } = URL.parse(url) ?? {};
  if (protocol === "ipc:") return "";
  return port || (DEFAULT_PORTS[protocol] ?? "443");
}

function firstFree(name: string, taken: ReadonlySet<string | undefined>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name}-${count}`;
  return free;
}

/** The domain of a URL, such as `alchemy.com` for `eth-mainnet.g.alchemy.com`; undefined if the host has none. */
function domainOf(url: string): string | undefined {
  if (/^ipc:/i.test(url)) return undefined;
  const host = hostName(url);
  const hasDomain = /[a-z]/i.test(host) && !host.includes(":");
  const [name, top] = host.split(".").slice(-2);
  return hasDomain && name && top ? `${name}.${top}`.toLowerCase() : undefined;
}

/**
 * Only the host of a URL, since path, query and user may hold a provider's key, as the first labels of the host may; for
 * an IPC socket its file's name.
 */
function hostName(url: string): string {
  const { protocol, hostname = "", pathname = "" } = URL.parse(url) ?? {};
  if (protocol === "ipc:") return pathname.split(/[^A-Za-z0-9._-]/).at(-1) || "ipc";
  return withoutKeys(hostname.replace(/[[\]]/g, ""));
}
