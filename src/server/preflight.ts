// Answers the question a browser asks before it lets a page call (CORS).
import type { ServerResponse } from "node:http";

/** @param allowOrigin `*`, the caller's own origin, or undefined when the key does not allow it. */
export function answerPreflight(
  response: ServerResponse,
  options: { requestId: string; allowOrigin: string | undefined; close: boolean },
): void {
  const { requestId, allowOrigin } = options;
  const headers = [
    "X-Request-Id",
    requestId,
    "Allow",
    "POST, OPTIONS",
    "Access-Control-Allow-Methods",
    "POST, OPTIONS",
    "Access-Control-Allow-Headers",
    "Content-Type, Content-Encoding, Accept",
    "Access-Control-Max-Age",
    "86400",
  ];
  if (allowOrigin) headers.push("Access-Control-Allow-Origin", allowOrigin);
  if (options.close) headers.push("Connection", "close");
  if (allowOrigin !== "*") headers.push("Vary", "Origin");
  response.writeHead(204, headers).end();
}
