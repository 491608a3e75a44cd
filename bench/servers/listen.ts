// Starts a server on a free port and prints its URL for the parent process.
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export function listen(server: Server): void {
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
}
