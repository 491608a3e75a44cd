// Ports that nobody uses at the moment.
import { createServer, type Server } from "node:net";

/** One port on the loopback interface for each name. All are held until all are known: they differ. */
export async function freePorts<Name extends string>(
  ...names: readonly Name[]
): Promise<Record<Name, number>> {
  const servers = await Promise.all(names.map(listening));
  const ports = names.map((name, index) => [name, portOf(servers[index])] as const);
  await Promise.all(servers.map(closed));
  return Object.fromEntries(ports) as Record<Name, number>;
}

const listening = (): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => void server.close(() => resolve()));

function portOf(server: Server | undefined): number {
  const address = server?.address();
  if (!address || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
