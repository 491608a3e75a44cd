// A client that counts the notifications that it receives, and resumes with the count after its connection broke.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Random } from "../support/generated-chain/random.ts";
import { type Cut, CutConnection } from "./cut-connection.ts";
import type { ExpectedNotifications } from "./expected-notifications.ts";

/** A subscription, over all of its sockets. */
export type Stream = { readonly expected: ExpectedNotifications; id: string; received: number };

type Message = {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly params?: { readonly subscription: string; readonly result: unknown };
};

export type SubscriberParts = {
  readonly random: Random;
  /** The present URLs of the gateways. */
  readonly endpoints: () => readonly string[];
};

/** Errors of a gateway that starts, or has just lost its nodes; the client retries. */
const PASSING = /unavailable|moving|state|no upstream|timeout|not followed|draining/;
const AGAIN_AFTER_MS = 50;
/** The longest time for such errors. */
const MOST_MS = 20_000;

export class Subscriber {
  readonly streams: readonly Stream[];
  /** The first violation. */
  fault: Error | undefined;
  /** The number of sockets so far. */
  sockets = 0;
  #connection: CutConnection | undefined;
  #socket: WebSocket | undefined;
  /** Rejects when the socket is closed, or could not be opened. */
  #closed: Promise<never> = new Promise(() => undefined);
  readonly #answers = new Map<number, (message: Message) => void>();
  #asked = 0;
  readonly #parts: SubscriberParts;

  constructor(told: readonly ExpectedNotifications[], parts: SubscriberParts) {
    this.streams = told.map((each) => ({ expected: each, id: "", received: 0 }));
    this.#parts = parts;
  }

  /** Subscribes or resumes on a new socket of some gateway. */
  async subscribe(cut: Cut = {}): Promise<void> {
    const giveUpAt = performance.now() + MOST_MS;
    let isFirst = true;
    for (;;) {
      this.drop();
      const timer = setTimeout(() => this.drop("no answer came"), MOST_MS);
      try {
        await this.#open();
        if (isFirst) this.#connection?.cut(cut);
        for (const stream of this.streams) await this.#subscribe(stream);
        return;
      } catch (error) {
        if (this.fault) throw this.fault;
        if (!(error instanceof Passing) || performance.now() > giveUpAt) throw error;
        isFirst = false;
        await pause(AGAIN_AFTER_MS);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  /** Disturbs the connection in a random way. */
  async suffer(): Promise<void> {
    const { random } = this.#parts;
    const connection = this.#connection;
    switch (random.below(6)) {
      case 0: // the connection breaks after a number of bytes, even within a frame
      case 1:
        connection?.cut({ inBytes: random.below(5_000) });
        await pause(random.below(200));
        return this.subscribe();
      case 2: // the client's pongs do not arrive any more
        connection?.cut({ outBytes: random.below(10) });
        await pause(random.below(200));
        return this.subscribe();
      case 3: // the client does not read for a while
        this.hold();
        await pause(random.below(400));
        return this.goOn();
      case 4: // the next connection breaks while it is being opened
        return this.subscribe({ inBytes: random.below(2_000) });
      default:
        await pause(random.below(150));
        return this.#socket?.readyState === WebSocket.OPEN ? undefined : this.subscribe();
    }
  }

  get socket(): WebSocket {
    return this.#socket as WebSocket;
  }

  /** Stops reading until `goOn`. */
  hold(): void {
    this.#connection?.hold();
  }

  goOn(): void {
    this.#connection?.goOn();
  }

  get isThere(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  drop(why = "it went away"): void {
    this.#connection?.destroy(new Error(why));
    this.#connection = undefined;
    this.#answers.clear();
  }

  async #open(): Promise<void> {
    const url = this.#parts.random.one(this.#parts.endpoints());
    const connection = new CutConnection(Number(new URL(url).port));
    this.#connection = connection;
    this.sockets += 1;
    const socket = new WebSocket(url.replace("http:", "ws:"), {
      createConnection: () => connection,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    socket.on("message", (data) => {
      if (this.#socket === socket) this.#hear(JSON.parse(String(data)) as Message);
    });
    this.#closed = new Promise((_, reject) => {
      socket.on("error", (cause) => reject(new Passing("no socket", { cause })));
      socket.on("close", (code) => reject(new Passing(`closed: ${code}`)));
    });
    this.#closed.catch(() => undefined);
    await Promise.race([once(socket, "open"), this.#closed]);
  }

  async #subscribe(stream: Stream): Promise<void> {
    const { id, received, expected } = stream;
    const resume = id === "" ? [] : [{ resume: id, received }];
    const { result, error } = await this.#ask([...expected.params, ...resume], stream);
    if (error && PASSING.test(error.message)) throw new Passing(error.message);
    if (error || (id !== "" && result !== id))
      this.#fail(
        new Error(`${JSON.stringify(expected.params[0])}: ${error?.message ?? "another id"}`),
      );
  }

  #ask(params: readonly unknown[], stream: Stream): Promise<Message> {
    this.#asked += 1;
    const id = this.#asked;
    const answered = new Promise<Message>((resolve) => {
      this.#answers.set(id, (message) => {
        // The first notification may come right after the answer.
        if (typeof message.result === "string") stream.id = message.result;
        resolve(message);
      });
    });
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
    return Promise.race([answered, this.#closed]);
  }

  #hear(message: Message): void {
    if (message.id !== undefined) {
      this.#answers.get(message.id)?.(message);
      return;
    }
    const { subscription, result } = message.params ?? {};
    const stream = this.streams.find(({ id }) => id === subscription);
    try {
      if (!stream) throw new Error(`of no subscription: ${subscription}`);
      stream.expected.hear(result);
      stream.received += 1;
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    this.fault ??= error;
  }
}

/** The connection broke, or the gateway is not ready yet. */
class Passing extends Error {}
