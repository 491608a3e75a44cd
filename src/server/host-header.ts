// A request says once for whom it is: with two Host headers, a proxy and we might read different ones.
import type { IncomingMessage } from "node:http";

/** Whether there is exactly one; HTTP/1.0 has none where nobody asks for a name (probes of health). */
export function hasOneHost({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, "rawHeaders" | "httpVersion">): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0");
}
