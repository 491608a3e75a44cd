// For tests: nodes that answer, or fail, over real sockets.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export type FakeNode = {
  readonly url: string;
  /** All that were ever opened. */
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

/** Says whatever it likes when something has come. */
export const rawNode = (answer: (socket: Socket) => void): Promise<FakeNode> =>
  listening(createTcpServer((socket) => socket.on("data", () => answer(socket))));

export type WebSocketAnswer = (socket: WebSocket, id: number, seen: readonly number[]) => void;

/** Is told what to do with each call; `asked(n)` resolves when it has got n of them. */
export async function webSocketNode(
  answer: WebSocketAnswer,
  { port = 0, autoPong = true }: { port?: number; autoPong?: boolean } = {},
) {
  const seen: number[] = [];
  const requests: string[] = [];
  const opened: WebSocket[] = [];
  const waiting: { want: number; tell: () => void }[] = [];
  const server = createServer();
  new WebSocketServer({ server, autoPong }).on("connection", (socket) => {
    opened.push(socket.on("error", () => undefined));
    socket.on("message", (data) => {
      const { id } = JSON.parse(String(data)) as { id: number };
      requests.push(String(data));
      seen.push(id);
      answer(socket, id, seen);
      for (const { want, tell } of waiting) if (seen.length >= want) tell();
    });
  });
  const node = await listening(server, port);
  const asked = (want: number) =>
    new Promise<void>((tell) => (seen.length >= want ? tell() : waiting.push({ want, tell })));
  return { ...node, url: node.url.replace("http", "ws"), seen, requests, opened, asked };
}
