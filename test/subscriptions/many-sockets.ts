// A process that opens many WebSockets to a URL, answers pings, and prints when all are open. Without a library, whose
// sockets would take much memory themselves.
import { connect, type Socket } from "node:net";

const [url = "", count = "0"] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const HANDSHAKE = [
  `GET ${pathname} HTTP/1.1`,
  `Host: ${hostname}`,
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "\r\n",
].join("\r\n");
/** Masked, as every frame of a client is. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const AT_ONCE = 100;

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(HANDSHAKE));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed")));
    socket.once("data", (answer) => {
      if (!answer.toString("latin1").startsWith("HTTP/1.1 101")) reject(new Error(String(answer)));
      socket.on("data", () => socket.write(PONG));
      resolve(socket);
    });
  });
}

for (let opened = 0; opened < Number(count); opened += AT_ONCE)
  await Promise.all(Array.from({ length: AT_ONCE }, open));
process.stdout.write("open\n");
