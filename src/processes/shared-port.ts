// The one port that several processes listen on.
import { type AddressInfo, createServer } from "node:net";

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
 * The port that doors are to share. Alone for a moment: a gateway that was started twice would share it
 * without a word.
 *
 * @throws EADDRINUSE
 */
export const freePort = ({ host, port }: { host: string; port: number }): Promise<number> =>
  listenOnce({ host, port, reusePort: false });

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
