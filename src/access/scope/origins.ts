// Which web origins a key may be used from.

/**
 * `https://app.example.com` is one origin; `app.example.com` is that host with any scheme and on any port,
 * `app.example.com:8080` on that port. `*.example.com` covers the subdomains, not itself; `*` all origins.
 */
export function originMatcher(
  patterns: readonly string[],
): (origin: string | undefined) => boolean {
  const tests = patterns.map((pattern) => testOf(pattern.toLowerCase()));
  return (origin) => {
    if (origin === undefined) return false;
    const parts = partsOf(origin.toLowerCase());
    return tests.some((test) => test(parts));
  };
}

/** What a browser sends, taken apart; undefined for `null` and what is no origin with a host. */
type Origin = { scheme: string; host: string; port: string | undefined } | undefined;

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/;

function partsOf(text: string): Origin {
  const [, scheme, host, port] = ORIGIN.exec(text) ?? [];
  return scheme !== undefined && host !== undefined
    ? { scheme, host, port: DEFAULT_PORTS.get(scheme) === port ? undefined : port }
    : undefined;
}

/** Browsers leave them out. */
const DEFAULT_PORTS = new Map([
  ["http", "80"],
  ["https", "443"],
]);

function testOf(pattern: string): (origin: Origin) => boolean {
  if (pattern === "*") return () => true;
  const [, scheme, place = ""] = /^(?:([^:/]+):\/\/)?(.*)$/.exec(pattern) ?? [];
  const [, host = "", written] = /^(.*?)(?::(\d+))?$/.exec(place) ?? [];
  const isHost = hostTest(host);
  const port = DEFAULT_PORTS.get(scheme ?? "") === written ? undefined : written;
  const isAnyPort = scheme === undefined && port === undefined;
  return (origin) =>
    origin !== undefined &&
    (scheme === undefined || origin.scheme === scheme) &&
    (isAnyPort || origin.port === port) &&
    isHost(origin.host);
}

function hostTest(pattern: string): (host: string) => boolean {
  if (!pattern.startsWith("*.")) return (host) => host === pattern;
  const domain = pattern.slice(1);
  return (host) => host.length > domain.length && host.endsWith(domain);
}
