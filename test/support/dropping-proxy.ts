// A proxy before a Redis that loses replies: it passes on what it is asked, and when it is told so it
// keeps the answer to itself and closes the connection, as a network does that breaks in between.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class DroppingProxy {
  /** So many answers are lost from now on. */
  losing = 0;
  lost = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((caller) => this.#join(caller, port));
  }

  /** @param port Of the Redis on this machine. */
  static async before(port: number): Promise<DroppingProxy> {
    const proxy = new DroppingProxy(port);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(caller: Socket, port: number): void {
    const redis = connect(port, "127.0.0.1");
    for (const socket of [caller, redis]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // it closes
      socket.on("close", () => {
        this.#sockets.delete(socket);
        caller.destroy();
        redis.destroy();
      });
    }
    caller.pipe(redis);
    redis.on("data", (answer) => {
      if (this.losing === 0) return caller.write(answer);
      this.losing -= 1;
      this.lost += 1;
      return caller.destroy();
    });
  }
}
