// Chooses how to speak to a node by the scheme of its URL.
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";
import { ipcConnection } from "./ipc-connection.ts";
import { WebSocketConnection } from "./websocket-connection.ts";
import type { ArrivingMemory } from "./whole-body.ts";

type ConnectParts = {
  readonly clock: Pick<Clock, "after" | "now" | "wallTime" | "yield">;
  /** Where what comes is counted. */
  readonly memory?: ArrivingMemory | undefined;
  readonly turns?: Pick<Turns, "next"> | undefined;
  /** See `BatchingConnection`. */
  readonly onBatchLearned?: ((size: number) => void) | undefined;
};

/** No socket is opened before the first call. */
export function connect(options: ConnectionOptions, parts: ConnectParts): Connection {
  const scheme = URL.parse(options.url)?.protocol;
  if (scheme === "ws:" || scheme === "wss:") return new WebSocketConnection(options, parts);
  if (scheme === "ipc:") return ipcConnection(options, parts);
  const connection = new HttpConnection(options, parts);
  const { batch = 1 } = options;
  if (batch < 2) return connection;
  const onLearned = parts.onBatchLearned;
  return new BatchingConnection({ batch, onLearned }, { connection, clock: parts.clock });
}
