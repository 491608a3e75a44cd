// Which network, and which key, an HTTP request means. Pure.

export type Route =
  | { kind: "endpoint"; network: string | undefined; key: string | undefined }
  | { kind: "health" }
  | { kind: "readiness" }
  | { kind: "unknown" };

const UNKNOWN: Route = { kind: "unknown" };

/**
 * Reads the path: `/v1/<key>`, or `/<network>/v1/<key>` for people without DNS.
 *
 * @param url The request target; a query is ignored. `network` is undefined when the host decides.
 */
export function routeOf(url: string): Route {
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  if (path === "/healthz") return { kind: "health" };
  if (path === "/readyz") return { kind: "readiness" };
  const segments = path.split("/");
  if (segments.length > 1 && segments.at(-1) === "") segments.pop();
  const [, first, second, third] = segments;
  if (first === "v1" && segments.length <= 3) {
    return { kind: "endpoint", network: undefined, key: decoded(second) };
  }
  if (second === "v1" && segments.length <= 4) {
    return { kind: "endpoint", network: decoded(first)?.toLowerCase(), key: decoded(third) };
  }
  return UNKNOWN;
}

/** A segment's text; one with broken percent signs stays as it is and will match nothing. */
function decoded(segment: string | undefined): string | undefined {
  if (!segment?.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export type HostSettings = { readonly name: string; readonly hosts: readonly string[] | undefined };

/**
 * Finds a network's name by the Host header: one of its configured hosts, or for a network without
 * any, a host whose first label is its name. Ports and case do not matter.
 */
export function hostResolver(
  networks: readonly HostSettings[],
): (host: string | undefined) => string | undefined {
  const byHost = new Map<string, string>();
  const byLabel = new Map<string, string>();
  for (const { name, hosts } of networks) {
    if (hosts) for (const host of hosts) byHost.set(host, name);
    else byLabel.set(name, name);
  }
  return (header) => {
    if (header === undefined) return undefined;
    const host = header.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
    const dot = host.indexOf(".");
    return byHost.get(host) ?? byLabel.get(dot < 0 ? host : host.slice(0, dot));
  };
}
