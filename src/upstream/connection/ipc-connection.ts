// Speaks to a node of this machine over its Unix socket: a conversation of JSON objects, one behind
// the other.
import { connect as connectSocket, type Socket } from "node:net";
import { unescape as percentDecoded } from "node:querystring";
import type { Clock } from "../../lib/clock.ts";
import { type ConnectionOptions, reasonOf } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import { MessageSplitter } from "./message-splitter.ts";
import type { ArrivingMemory } from "./whole-body.ts";
import type { Wire, WireListener } from "./wire.ts";

export const ipcConnection = (
  options: ConnectionOptions,
  { clock, memory }: { clock: Pick<Clock, "after" | "now">; memory?: ArrivingMemory | undefined },
): Conversation =>
  new Conversation(options, {
    clock,
    open: (listener) => openWire({ ...options, memory }, listener),
  });

function openWire(
  options: ConnectionOptions & { memory: ArrivingMemory | undefined },
  listener: WireListener,
): Wire {
  const socket = connectSocket({ path: pathOf(options.url) });
  let reason = "connection closed";
  const splitter = new MessageSplitter(options, {
    onMessage: (body) => listener.onMessage(body),
    onTooLarge: (callId) => {
      if (callId !== undefined) listener.onTooLarge(callId);
      // Whatever it was, somebody waits for it who would never hear of it.
      else listener.onLost("message too large");
    },
  });
  socket.on("connect", () => listener.onOpen());
  socket.on("data", (chunk: Buffer) => {
    if (!splitter.add(chunk)) listener.onLost("malformed answer");
  });
  socket.on("error", (error) => {
    reason = reasonOf(error);
  });
  socket.on("close", () => {
    splitter.end();
    listener.onLost(reason);
  });
  return {
    state: () => stateOf(socket),
    send: (json) => socket.write(`${json}\n`),
    destroy: () => socket.destroy(),
  };
}

/** `ipc:///var/node.ipc` is an absolute path, `ipc:node.ipc` one from the working directory. */
function pathOf(url: string): string {
  const { host, pathname } = new URL(url);
  return percentDecoded(host + pathname);
}

function stateOf({ readyState }: Socket): "opening" | "open" | "ending" {
  return readyState === "opening" || readyState === "open" ? readyState : "ending";
}
