// Callers without a key that send little and hold a connection; each connects again when the gateway closes it.
import type { Socket } from "node:net";
import type { Attack, AttackTarget } from "./attack.ts";
import { closed, openAttackSocket } from "./sockets.ts";

const AT_ONCE = 200;
const COMES_AGAIN_AFTER_MS = 20;

/** The bytes that a stranger sends first: nothing, half a request, a whole one, a call without a valid key. */
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

/** Opens one stranger's connection, until the gateway or the signal closes it. */
export function openStranger(target: AttackTarget, which: number, signal: AbortSignal): Socket {
  const socket = openAttackSocket(target, signal);
  socket.resume();
  socket.write(WORDS[which % WORDS.length] ?? "");
  return socket;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
