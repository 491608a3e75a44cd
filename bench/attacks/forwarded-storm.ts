// Callers that send batches of forwarded calls with large answers, over and over.
import type { Attack, AttackTarget } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

export type ForwardedStorm = {
  readonly connections: number;
  readonly members: number;
  readonly method: string;
  /** Whether the callers read the answers. */
  readonly reads: boolean;
};

export const forwardedStorm = (options: ForwardedStorm): Attack => ({
  name: "forwarded storm",
  run: async (target, signal) => {
    const { connections } = options;
    const strike = async (connection: number): Promise<void> => {
      while (!signal.aborted) await askOnce(connection, options, { target, signal });
    };
    await Promise.all(Array.from({ length: connections }, (_, connection) => strike(connection)));
  },
});

async function askOnce(
  connection: number,
  { members, method, reads }: ForwardedStorm,
  { target, signal }: { target: AttackTarget; signal: AbortSignal },
): Promise<void> {
  const body = JSON.stringify(
    Array.from({ length: members }, (_, id) => ({
      jsonrpc: "2.0",
      id,
      method,
      params: [
        { fromBlock: "0x10", toBlock: "0x10", address: addressOf(connection * members + id) },
      ],
    })),
  );
  const socket = openAttackSocket(target, signal);
  if (reads) socket.resume();
  else socket.pause();
  // The gateway closes the connection after its answer.
  socket.write(postBytes(target, body, "Connection: close\r\n"));
  await closed(socket);
}

/** A different address for each number: the gateway would merge equal calls. */
const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;
