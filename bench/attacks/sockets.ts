// The sockets of the attacks: written by hand, and closed when the attack ends.
import { connect, type Socket } from "node:net";
import type { AttackTarget } from "./attack.ts";

/** Opens a connection from the attacker's address. The signal closes it; its errors are ignored. */
export function openAttackSocket(target: AttackTarget, signal: AbortSignal): Socket {
  const { hostname, port } = new URL(target.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: target.localAddress });
  const close = (): void => {
    socket.destroy();
  };
  socket.on("error", close);
  socket.on("close", () => signal.removeEventListener("abort", close));
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  return socket;
}

/** The bytes of a POST to the endpoint. @param headers Lines that end with CRLF. */
export function postBytes(target: AttackTarget, body: Buffer | string, headers = ""): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const head =
    `POST /${target.network}/v1/${target.key} HTTP/1.1\r\nHost: gateway\r\n` +
    `Content-Type: application/json\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

/** Resolves when either end has closed the socket. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
