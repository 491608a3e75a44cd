// Answers preflights, by which a browser asks whether a page may send a request (CORS, Fetch standard §3.3).
import type { HttpExchange } from "./listener.ts";

export type PreflightOptions = {
  /** `*`, the page's own origin, or undefined when the key does not allow it. */
  readonly allowOrigin: string | undefined;
  /** The verb of the route beside OPTIONS. */
  readonly verb: string;
  /** Whether the connection ends after the answer. */
  readonly close: boolean;
};

export function answerPreflight(
  { request, response, requestId }: HttpExchange,
  { allowOrigin, verb, close }: PreflightOptions,
): void {
  const verbs = `${verb}, OPTIONS`;
  const headers = ["X-Request-Id", requestId, "Allow", verbs, "Access-Control-Max-Age", "86400"];
  const requested = request.headers["access-control-request-headers"];
  headers.push("Access-Control-Allow-Headers", allowedHeaders(requested));
  headers.push("Access-Control-Allow-Methods", verbs);
  if (allowOrigin) headers.push("Access-Control-Allow-Origin", allowOrigin);
  if (close) headers.push("Connection", "close");
  if (allowOrigin !== "*") headers.push("Vary", "Origin");
  response.writeHead(204, headers).end();
}

/** The headers that the gateway reads. */
const READ = [
  ...["Content-Type", "Content-Encoding", "Accept", "Authorization", "X-Api-Key", "Last-Event-ID"],
  ...["Traceparent", "Tracestate", "X-Headgate-Explain"],
];
const KNOWN: ReadonlySet<string> = new Set(READ.map((name) => name.toLowerCase()));

/** A header's name (RFC 9110, 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** The most names that are given back: pages send a few headers of their own. */
const MOST_NAMES = 64;
/** In characters: of a longer list, only the beginning is read. */
const LONGEST_LIST = 4_096;

/**
 * The value of Access-Control-Allow-Headers: the headers that the gateway reads, and those that the page asks for, since
 * clients and tracers add headers of their own, which change nothing here. A text that is no header's name is left out.
 *
 * @param requested The value of Access-Control-Request-Headers.
 */
export function allowedHeaders(requested = ""): string {
  const names = new Set(READ);
  for (const written of requested.slice(0, LONGEST_LIST).split(",").slice(0, MOST_NAMES)) {
    const name = written.trim().toLowerCase();
    if (NAME.test(name) && !KNOWN.has(name)) names.add(name);
  }
  return [...names].join(", ");
}
