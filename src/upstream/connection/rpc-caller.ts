// One node asked directly, with parsed answers: for the development nodes' activity.

import type { RpcCaller } from "../../devnet/activity.ts";
import type { Clock } from "../../lib/clock.ts";
import { readReply } from "../reply.ts";
import { requestJson } from "../request-json.ts";
import { connect } from "./connect.ts";

const TIMEOUT_MS = 10_000;

export function rpcCaller(url: string, parts: { clock: Clock }): RpcCaller {
  const connection = connect(
    { url, headers: {}, connections: 4, timeoutMs: TIMEOUT_MS, responseBytes: 1 << 26 },
    parts,
  );
  const { signal } = new AbortController();
  let id = 0;
  return {
    call: async (method, params) => {
      id += 1;
      const json = requestJson(id, method, JSON.stringify(params));
      const reply = readReply(await connection.send({ id, json }, signal), id);
      if (reply.kind === "result") return JSON.parse(reply.json.toString());
      throw new Error(reply.kind === "refused" ? reply.message : `${method}: ${reply.kind}`);
    },
  };
}
