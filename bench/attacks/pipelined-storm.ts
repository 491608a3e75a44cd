// Thousands of calls that need a node, pipelined over few connections: a gateway that served calls in the order of
// arrival would serve no other caller.
import type { Attack } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

const CONNECTIONS = 4;
/** Calls on each connection before a new connection replaces it. */
const CALLS = 500;

export const pipelinedStorm: Attack = {
  name: "pipelined storm",
  run: async (target, signal) => {
    let id = 0;
    const calls = (): Buffer => {
      id += CALLS;
      const ids = Array.from({ length: CALLS }, (_, index) => id + index);
      return Buffer.concat(ids.map((each) => postBytes(target, callOf(each))));
    };
    const strike = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = openAttackSocket(target, signal);
        let answers = 0;
        socket.on("data", (data) => {
          answers += data.toString("latin1").split("HTTP/1.1 ").length - 1;
          if (answers >= CALLS) socket.destroy();
        });
        socket.write(calls());
        await closed(socket);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, strike));
  },
};

/** A different call for each id: the gateway would merge equal calls. */
const callOf = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["0x${id.toString(16).padStart(40, "a")}","latest"]}`;
