// The requests of each connection that are not answered yet, of those that Node's HTTP reads. An upgrade or a tunnel
// behind one of them would take the connection from under its answer.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export class OpenResponses {
  readonly #byConnection = new WeakMap<Duplex, Set<ServerResponse>>();

  /** Counts the response until the system has taken it, or its connection has ended. */
  add({ socket }: Pick<IncomingMessage, "socket">, response: ServerResponse): void {
    const known = this.#byConnection.get(socket);
    const open = known ?? new Set();
    if (!known) this.#byConnection.set(socket, open);
    open.add(response);
    response.once("close", () => open.delete(response));
  }

  /** Whether a request on this connection is not answered yet. */
  has(connection: Duplex): boolean {
    return (this.#byConnection.get(connection)?.size ?? 0) > 0;
  }

  /** Whether a whole request on this connection is not answered yet: an answer to broken bytes would seem its answer. */
  hasWhole(connection: Duplex): boolean {
    for (const { req } of this.#byConnection.get(connection) ?? []) if (req.complete) return true;
    return false;
  }

  /** Ends the connection. Node tells no response but the first of the end, once it gave the connection away. */
  end(connection: Duplex): void {
    const open = [...(this.#byConnection.get(connection) ?? [])];
    connection.destroy();
    for (const response of open) {
      response.destroy();
      if (!response.socket) response.emit("close");
    }
  }
}
