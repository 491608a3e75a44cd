// A key that is bound to no network any more while its subscription is open, over and over: after a moment it is told
// nothing.
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";
import { frameOf, openAttackSocket, upgradeBytes } from "./sockets.ts";

export type NarrowedKey = {
  /** `http://127.0.0.1:<port>` of the operators' port, which needs no token. */
  readonly adminUrl: string;
  readonly onBreach: (what: string) => void;
};

const NAME = "narrowed";
/** The gateway looks at open sockets each second. */
const GRACE_MS = 2_500;

export const narrowedKey = ({ adminUrl, onBreach }: NarrowedKey): Attack => {
  let key: string | undefined;
  const change = async (verb: string, path: string, body: object): Promise<{ key?: string }> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${adminUrl}${path}`, {
      method: verb,
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as { key?: string };
  };
  return {
    name: "a narrowed key",
    run: async (target, signal) => {
      while (!signal.aborted) {
        try {
          key ??= (await change("POST", "/keys", { name: NAME })).key;
          await change("PATCH", `/keys/${NAME}`, { networks: null });
          const late = await toldAfter({ ...target, key: key ?? "" }, signal, () =>
            change("PATCH", `/keys/${NAME}`, { networks: [] }),
          );
          if (late > 0) onBreach(`a narrowed key was told ${late} bytes`);
        } catch {
          await pause(GRACE_MS); // the gateway refuses changes while its state cannot be written
        }
      }
    },
  };
};

/** The number of bytes that are pushed after `narrow` and the grace. */
async function toldAfter(
  target: AttackTarget,
  signal: AbortSignal,
  narrow: () => Promise<unknown>,
): Promise<number> {
  const socket = openAttackSocket(target, signal);
  let [isLate, bytes] = [false, 0];
  socket.on("data", ({ length }) => {
    if (isLate) bytes += length;
  });
  socket.write(upgradeBytes(target));
  await pause(500);
  socket.write(frameOf('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'));
  await pause(500);
  await narrow();
  await pause(GRACE_MS);
  isLate = true;
  await pause(GRACE_MS);
  socket.destroy();
  return bytes;
}
