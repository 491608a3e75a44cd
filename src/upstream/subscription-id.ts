// Whether a node opened a subscription: one rule for the socket that listens and for whoever asked.
import type { Exchange } from "./connection/connection.ts";
import { readReply } from "./reply.ts";

const QUOTE = 0x22;

/** The subscription's id as JSON text; undefined when none was opened: it must be a string. */
export function subscriptionIdIn(exchange: Exchange, callId: number): string | undefined {
  const reply = readReply(exchange, callId);
  return reply.kind === "result" && reply.json[0] === QUOTE ? reply.json.toString() : undefined;
}
