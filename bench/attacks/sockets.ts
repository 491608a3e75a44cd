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

/** Sends the bytes on a connection of its own; returns what comes until either end closes it, at most 1 MiB of it. */
export async function answerTo(
  target: AttackTarget,
  bytes: Buffer | string,
  signal: AbortSignal,
): Promise<string> {
  const socket = openAttackSocket(target, signal);
  let text = "";
  socket.on("data", (data) => {
    if (text.length < MOST_READ) text += data.toString("latin1");
  });
  socket.write(bytes);
  await closed(socket);
  return text;
}

const MOST_READ = 2 ** 20;

/** The bytes of one call, after whose answer the gateway closes the connection. */
export const callBytes = (
  target: AttackTarget,
  method: string,
  params: readonly unknown[],
): Buffer =>
  postBytes(
    target,
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    "Connection: close\r\n",
  );

/** The bytes of a WebSocket's handshake with the endpoint. */
export const upgradeBytes = ({ network, key }: AttackTarget): string =>
  `GET /${network}/v1/${key} HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/** A text frame, or a pong, of a caller, whose mask is zero (RFC 6455 §5.2). */
export function frameOf(text: string, kind: "text" | "pong" = "text"): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt8(kind === "text" ? 0x81 : 0x8a, 0);
  if (payload.length < 126) {
    head.writeUInt8(0x80 | payload.length, 1);
    return Buffer.concat([head.subarray(0, 6), payload]);
  }
  head.writeUInt8(0x80 | 126, 1);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** Works at several places at once, over and over, until the signal aborts. */
export async function overAndOver(
  atOnce: number,
  signal: AbortSignal,
  work: (turn: number) => Promise<unknown>,
): Promise<void> {
  let turn = 0;
  const strike = async (): Promise<void> => {
    while (!signal.aborted) {
      turn += 1;
      await work(turn);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, strike));
}
