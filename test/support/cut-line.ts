// A proxy before a node on this machine that a test can cut off.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class CutLine {
  #isUp = true;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#join(socket));

  constructor(port: number) {
    this.#port = port;
  }

  #join(socket: Socket): void {
    if (!this.#isUp) return void socket.destroy();
    const node = connect(this.#port, "127.0.0.1");
    for (const end of [socket, node]) {
      this.#sockets.add(end);
      end.on("error", () => undefined);
      end.on("close", () => this.#sockets.delete(end));
    }
    socket.pipe(node).pipe(socket);
  }

  /** @returns The proxy's URL. */
  async open(scheme: "http" | "ws" = "http"): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(isUp: boolean): void {
    this.#isUp = isUp;
    if (!isUp) for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.set(false);
    this.#server.close();
  }
}
