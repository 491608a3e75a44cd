// Chooses the kind of connection to a node by the scheme of its URL.

import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import type { BatchSizes } from "../capabilities/batch-sizes.ts";
import { nodeCallerOf } from "../reply.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";
import { ipcConnection } from "./ipc-connection.ts";
import { webSocketConnection } from "./websocket-connection.ts";
import type { ArrivingMemory } from "./whole-body.ts";

type ConnectParts = {
  readonly clock: Pick<Clock, "after" | "now" | "wallTime" | "yield">;
  /** Counts the bytes of answers while they arrive. */
  readonly memory?: ArrivingMemory | undefined;
  readonly turns?: Pick<Turns, "next"> | undefined;
  /** The batch sizes over HTTP; left out: each call goes by itself. */
  readonly sizes?: BatchSizes | undefined;
  /** A callback: a socket is open again after a loss; never called over HTTP, which has no lasting socket. */
  readonly onReopened?: (() => void) | undefined;
};

/** Makes a connection over WebSocket (`ws:`, `wss:`), IPC (`ipc:`) or HTTP, without a socket before the first call. */
export function connect(options: ConnectionOptions, parts: ConnectParts): Connection {
  const scheme = URL.parse(options.url)?.protocol;
  if (scheme === "ws:" || scheme === "wss:") return webSocketConnection(options, parts);
  if (scheme === "ipc:") return ipcConnection(options, parts);
  const connection = new HttpConnection(options, parts);
  const { clock, sizes } = parts;
  const takesBatches = sizes !== undefined && options.batch !== 1;
  return takesBatches ? new BatchingConnection({ connection, clock, sizes }) : connection;
}

const TIMEOUT_MS = 10_000;

/** Calls one node, without a pool. */
export type RpcCaller = {
  /** Resolves to the parsed result. Rejects when the node refuses or cannot be reached. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
};

/** Makes a caller over any transport, with a timeout of `TIMEOUT_MS`; the activity of development nodes uses it. */
export function rpcCaller(url: string, parts: { clock: Clock }): RpcCaller {
  const connection = connect(
    { url, headers: {}, connections: 4, timeoutMs: TIMEOUT_MS, responseBytes: 1 << 26 },
    parts,
  );
  const ask = nodeCallerOf(connection);
  return {
    call: async (method, params) => {
      const reply = await ask(method, JSON.stringify(params));
      if (reply.kind === "result") return JSON.parse(reply.json.toString());
      throw new Error(reply.kind === "refused" ? reply.message : `${method}: ${reply.kind}`);
    },
  };
}
