// The one port that several processes listen on.
import { type AddressInfo, createServer } from "node:net";
import type { Clock } from "../lib/clock.ts";

/** The servers of a supervisor that was killed a moment ago end within that time, in milliseconds. */
const TIMEOUT_MS = 2_000;
const LOOK_AGAIN_MS = 50;

/** Whether several processes can listen on one port here. */
export async function canSharePorts(): Promise<boolean> {
  try {
    await listenOnce({ host: "127.0.0.1", port: 0, reusePort: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * The port that servers are to share. Alone for a moment: a gateway that was started twice would share it
 * without a word.
 *
 * @throws EADDRINUSE
 */
export async function freePort(
  { host, port }: { host: string; port: number },
  { clock }: { clock: Pick<Clock, "now" | "sleep"> },
): Promise<number> {
  const giveUpAt = clock.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await listenOnce({ host, port, reusePort: false });
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || clock.now() >= giveUpAt) throw error;
    }
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

function listenOnce(options: { host: string; port: number; reusePort: boolean }): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
