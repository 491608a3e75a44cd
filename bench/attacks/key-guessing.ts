// A caller that guesses keys as fast as the gateway answers.
import { randomBytes } from "node:crypto";
import type { Attack } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

const AT_ONCE = 50;
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

export const keyGuessing: Attack = {
  name: "guessed keys",
  run: async (target, signal) => {
    const guess = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = openAttackSocket(target, signal);
        socket.resume();
        socket.end(postBytes({ ...target, key: randomBytes(12).toString("hex") }, CALL));
        await closed(socket);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, guess));
  },
};
