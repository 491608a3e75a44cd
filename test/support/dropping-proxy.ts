// A proxy before a Redis that loses replies: on request it drops a reply and closes the connection, as a broken network
// does.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class DroppingProxy {
  /** The number of replies that it still drops. */
  losing = 0;
  lost = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((caller) => this.#join(caller, port));
  }

  /** @param port The port of the Redis on this machine. */
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
      socket.on("error", () => undefined); // the socket closes
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
