// HTTP over a plain socket, for requests that no client library would send.
import { connect, type Socket } from "node:net";

export function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** All data until the other side closes. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => resolve(text)); // a reset also ends the connection
    socket.on("close", () => resolve(text));
  });
}
