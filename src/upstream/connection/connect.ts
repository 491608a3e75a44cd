// Chooses how to speak to a node by the scheme of its URL.
import type { Clock } from "../../lib/clock.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

/** No socket is opened before the first call. */
export const connect = (
  options: ConnectionOptions,
  parts: { clock: Pick<Clock, "after" | "now"> },
): Connection =>
  /^wss?:/i.test(options.url)
    ? new WebSocketConnection(options, parts)
    : new HttpConnection(options, parts);
