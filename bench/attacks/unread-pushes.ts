// Subscriptions over WebSockets and event streams whose callers read nothing, but send pongs as if they did.
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";
import { frameOf, openAttackSocket, upgradeBytes } from "./sockets.ts";

const SOCKETS = 20;
const SUBSCRIPTIONS = 10;
const STREAMS = 5;
const PONG_EVERY_MS = 500;

export const unreadPushes: Attack = {
  name: "unread pushes",
  run: async (target, signal) => {
    const hold = (at: number): Promise<void> => holdOne(at, target, signal);
    await Promise.all(Array.from({ length: SOCKETS + STREAMS }, (_, at) => hold(at)));
  },
};

async function holdOne(at: number, target: AttackTarget, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = openAttackSocket(target, signal);
    socket.pause();
    const isStream = at < STREAMS;
    const path = `/${target.network}/v1/${target.key}/events?stream=logs`;
    socket.write(isStream ? `GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n` : upgradeBytes(target));
    // The handshake is answered by then; a frame behind an unanswered upgrade would end the connection.
    await pause(PONG_EVERY_MS);
    for (let id = 0; !isStream && id < SUBSCRIPTIONS; id += 1) socket.write(frameOf(subscribe(id)));
    while (!signal.aborted && !socket.destroyed) {
      if (!isStream) socket.write(frameOf("", "pong"));
      await pause(PONG_EVERY_MS);
    }
  }
}

const subscribe = (id: number): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params: ["logs", {}] });
