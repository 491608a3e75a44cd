// A caller with a WebSocket: it makes calls, and collects notifications.
import { once } from "node:events";
import { expect } from "vitest";
import { WebSocket } from "ws";
import type { Envelope } from "./ask.ts";

export type Notification = {
  readonly method: string;
  readonly params: { readonly subscription: string; readonly result: unknown };
};

export class SocketCaller {
  readonly pushed: Notification[] = [];
  readonly #answers = new Map<number, (answer: Envelope) => void>();
  #asked = 0;
  readonly #prefix: "eth" | "cfx";
  readonly socket: WebSocket;

  private constructor(socket: WebSocket, prefix: "eth" | "cfx") {
    this.socket = socket;
    this.#prefix = prefix;
    socket.on("message", (data) => this.#hear(String(data)));
  }

  static async open(url: string, prefix: "eth" | "cfx" = "eth"): Promise<SocketCaller> {
    const socket = new WebSocket(url.replace("http:", "ws:"));
    const caller = new SocketCaller(socket, prefix);
    await once(socket, "open");
    return caller;
  }

  #hear(text: string): void {
    const message = JSON.parse(text) as Envelope & Notification;
    if (message.method === undefined) this.#answers.get(Number(message.id))?.(message);
    else this.pushed.push(message);
  }

  ask(method: string, ...params: readonly unknown[]): Promise<Envelope> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = new Promise<Envelope>((resolve) => this.#answers.set(id, resolve));
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return answer;
  }

  async subscribe(...params: readonly unknown[]): Promise<string> {
    const { result, error } = await this.ask(`${this.#prefix}_subscribe`, ...params);
    expect(error).toBeUndefined();
    return result as string;
  }

  resultsOf<Result>(id: string): Result[] {
    const own = this.pushed.filter(({ params }) => params.subscription === id);
    return own.map(({ params }) => params.result as Result);
  }

  async close(): Promise<void> {
    this.socket.terminate();
    if (this.socket.readyState !== this.socket.CLOSED) await once(this.socket, "close");
  }
}
