// Chooses how to speak to a node by the scheme of its URL.

import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import type { BatchSizes } from "../capabilities/batch-sizes.ts";
import { askerOf } from "../reply.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { type ArrivingMemory, HttpConnection } from "./http-connection.ts";
import { ipcConnection } from "./ipc-connection.ts";
import { webSocketConnection } from "./websocket-connection.ts";

type ConnectParts = {
  readonly clock: Pick<Clock, "after" | "now" | "wallTime" | "yield">;
  /** Where what comes is counted. */
  readonly memory?: ArrivingMemory | undefined;
  readonly turns?: Pick<Turns, "next"> | undefined;
  /** Over HTTP; left out: each call goes by itself. */
  readonly sizes?: BatchSizes | undefined;
};

/** No socket is opened before the first call. */
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

/** The smallest thing that can ask a node, for those who need parsed results and no pool. */
export type RpcCaller = {
  /** The parsed result. Rejects when the node refuses or cannot be reached. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
};

/** One node asked directly, with parsed results: for the development nodes' activity. */
export function rpcCaller(url: string, parts: { clock: Clock }): RpcCaller {
  const connection = connect(
    { url, headers: {}, connections: 4, timeoutMs: TIMEOUT_MS, responseBytes: 1 << 26 },
    parts,
  );
  const ask = askerOf(connection);
  return {
    call: async (method, params) => {
      const reply = await ask(method, JSON.stringify(params));
      if (reply.kind === "result") return JSON.parse(reply.json.toString());
      throw new Error(reply.kind === "refused" ? reply.message : `${method}: ${reply.kind}`);
    },
  };
}
