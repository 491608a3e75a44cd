// Malformed requests in turn: broken HTTP, broken JSON, bodies that stop in the middle.
import type { Attack } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

const AT_ONCE = 8;
/** The kinds of requests: each connection sends one and is closed. */
const KINDS: readonly ((post: (body: string, headers?: string) => Buffer) => Buffer | string)[] = [
  () => "GET / HTTP/9.9\r\n\r\n",
  () => "\u0016\u0003\u0001\u0002 a TLS greeting\r\n\r\n",
  () => `POST /${"../".repeat(2_000)} HTTP/1.1\r\nHost: gateway\r\n\r\n`,
  () => `GET /healthz HTTP/1.1\r\n${"X-A: b\r\n".repeat(5_000)}\r\n`,
  (post) => post("["),
  (post) => post("[".repeat(200_000)),
  (post) => post(`{"jsonrpc":"2.0","id":1,"method":"${"e".repeat(100_000)}"}`),
  (post) => post('{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":1},{"to":1}]}'),
  (post) => post('{"jsonrpc":"2.0","method":"admin_nodeInfo","id":1}'),
  (post) => post("{}", "Transfer-Encoding: chunked\r\n"),
  (post) => post("x".repeat(1_000), "Content-Encoding: gzip\r\n"),
  (post) => post(" ".repeat(500_000)).subarray(0, 1_000),
];

export const garbage: Attack = {
  name: "garbage",
  run: async (target, signal) => {
    const post = (body: string, headers?: string): Buffer => postBytes(target, body, headers);
    const strike = async (first: number): Promise<void> => {
      for (let kind = first; !signal.aborted; kind = (kind + 1) % KINDS.length) {
        const socket = openAttackSocket(target, signal);
        socket.resume();
        socket.end(KINDS[kind]?.(post) ?? "");
        await closed(socket);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => strike(first)));
  },
};
