// Strangers who come, say little, and stay: each holds a connection, and comes again when it is ended.
import type { Socket } from "node:net";
import type { Attack, AttackTarget } from "./attack.ts";
import { closed, openAttackSocket } from "./sockets.ts";

const AT_ONCE = 200;
const COMES_AGAIN_AFTER_MS = 20;

/** What a stranger says before it stays: nothing, half a request, a whole one, a call without a valid key. */
const WORDS: readonly string[] = [
  "",
  "GET /healthz HTTP/1.1\r\nHost: gate",
  "GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n",
  "POST /v1/a-stranger HTTP/1.1\r\nHost: gateway\r\nContent-Length: 2\r\n\r\n{}",
];

export const strangers: Attack = {
  name: "strangers who stay",
  run: async (target, signal) => {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, which) => {
        while (!signal.aborted) {
          await closed(openStranger(target, which, signal));
          await pause(COMES_AGAIN_AFTER_MS);
        }
      }),
    );
  },
};

/** One of them, until the gateway or the signal ends it. */
export function openStranger(target: AttackTarget, which: number, signal: AbortSignal): Socket {
  const socket = openAttackSocket(target, signal);
  socket.resume();
  socket.write(WORDS[which % WORDS.length] ?? "");
  return socket;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
