// Nodes for tests that answer, or fail, over real sockets.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type WebSocket, WebSocketServer } from "ws";

export type FakeNode = {
  readonly url: string;
  /** All connections since the start. */
  readonly sockets: readonly Socket[];
  close(): Promise<void>;
};

/** @param port Any free one when left out. */
export async function listening(server: Server, port = 0): Promise<FakeNode> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => undefined)));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export const httpNode = (answer: RequestListener): Promise<FakeNode> =>
  listening(createServer(answer));

/** A TCP server that runs `answer` for each piece of data. */
export const rawNode = (answer: (socket: Socket) => void): Promise<FakeNode> =>
  listening(createTcpServer((socket) => socket.on("data", () => answer(socket))));

/** Notes the calls of a node; `asked(n)` resolves when the node has got n calls and has acted on them. */
function notebook() {
  const seen: number[] = [];
  const requests: string[] = [];
  const waiting: { want: number; tell: () => void }[] = [];
  const note = (text: string, act: (id: number) => void): void => {
    const { id } = JSON.parse(text) as { id: number };
    requests.push(text);
    seen.push(id);
    act(id);
    for (const { want, tell } of waiting) if (seen.length >= want) tell();
  };
  const asked = (want: number) =>
    new Promise<void>((tell) => (seen.length >= want ? tell() : waiting.push({ want, tell })));
  return { seen, requests, note, asked };
}

export type IpcAnswer = (socket: Socket, id: number, seen: readonly number[]) => void;

/** A node behind a Unix socket, in a folder of its own; otherwise like `webSocketNode`. */
export async function ipcNode(answer: IpcAnswer) {
  const { note, ...noted } = notebook();
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    const lines = createInterface({ input: socket });
    lines.on("line", (line) => note(line, (id) => answer(socket, id, noted.seen)));
  });
  const folder = await mkdtemp(join(tmpdir(), "headgate-ipc-"));
  const path = join(folder, "node.ipc");
  const listen = (): Promise<unknown> => once(server.listen(path), "listening");
  await listen();
  /** Stops listening; `listen` may follow. */
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((closed) => server.close(closed));
  };
  const close = async (): Promise<void> => {
    await stop();
    await rm(folder, { recursive: true });
  };
  return { ...noted, url: `ipc://${path}`, path, sockets, listen, stop, close };
}

export type WebSocketAnswer = (socket: WebSocket, id: number, seen: readonly number[]) => void;

/** A node over WebSocket that runs `answer` for each call. */
export async function webSocketNode(
  answer: WebSocketAnswer,
  { port = 0, autoPong = true }: { port?: number; autoPong?: boolean } = {},
) {
  const { note, ...noted } = notebook();
  const opened: WebSocket[] = [];
  const server = createServer();
  new WebSocketServer({ server, autoPong }).on("connection", (socket) => {
    opened.push(socket.on("error", () => undefined));
    socket.on("message", (text) => note(String(text), (id) => answer(socket, id, noted.seen)));
  });
  const node = await listening(server, port);
  return { ...node, ...noted, url: node.url.replace("http", "ws"), opened };
}
