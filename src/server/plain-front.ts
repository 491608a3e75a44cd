// Serves connections whose requests are plain and come one after the other, as nearly all callers' do. Reads and answers
// them on the socket itself, in half the time that Node's HTTP takes. With the first bytes of any other request, the
// connection goes to Node's HTTP for good.
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import type { Config } from "../config/schema.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { httpDate } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { CallbackGuard } from "./callback-guard.ts";
import { type PlainHead, PlainRequest, readPlainHead } from "./plain-request.ts";

export type PlainFrontOptions = {
  /** The timeouts of connections, in milliseconds. */
  readonly bounds: () => Pick<Config["timeouts"], "headersMs" | "idleMs"> & { silenceMs: number };
};

export type PlainFrontParts<Route> = {
  /** The route of a request with this head; undefined: Node's HTTP must serve the request. */
  readonly routeOf: (head: PlainHead) => Route | undefined;
  /** May return a promise, whose rejection ends the connection. */
  readonly serve: (request: PlainRequest, response: PlainResponse, route: Route) => unknown;
  /** Hands a connection to Node's HTTP. The bytes that were read are put back into the socket before. */
  readonly handOver: (socket: Socket) => void;
  /** Answers on a connection that ended before its request was whole, or on which no byte ever came. */
  readonly refuse: (socket: Socket, status: "400 Bad Request" | "408 Request Timeout") => void;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly guard: Pick<CallbackGuard, "failed">;
};

const LOOK_EVERY_MS = 1_000;

export class PlainFront<Route> {
  readonly #connections = new Set<PlainConnection<Route>>();
  readonly #options: PlainFrontOptions;
  readonly #parts: PlainFrontParts<Route>;
  readonly #endOfHead: () => string;
  readonly #timer: PeriodicTimer;

  constructor(options: PlainFrontOptions, parts: PlainFrontParts<Route>) {
    this.#options = options;
    this.#parts = parts;
    const { clock } = parts;
    this.#timer = new PeriodicTimer({
      clock,
      everyMs: () => LOOK_EVERY_MS,
      round: () => this.#look(),
    });
    this.#endOfHead = endsOfHeads(() => options.bounds().idleMs, parts.clock);
  }

  /** Serves a new connection, of which no byte was read yet. */
  take(socket: Socket): void {
    const leave = (): void => void this.#connections.delete(connection);
    const own = { ...this.#parts, endOfHead: this.#endOfHead, leave };
    const connection = new PlainConnection(socket, own);
    this.#connections.add(connection);
    this.#timer.begin();
  }

  /** Ends the used connections that have no request under way. A first request may be on its way on an unused one. */
  closeIdle(): void {
    for (const connection of this.#connections) connection.endIfIdle();
  }

  terminate(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  #look(): boolean {
    const bounds = this.#options.bounds();
    for (const connection of this.#connections) connection.look(bounds);
    return this.#connections.size > 0;
  }
}

/** Makes the last lines of each answer's head, which stay the same for a second. */
function endsOfHeads(idleMs: () => number, clock: Pick<Clock, "wallTime">): () => string {
  let second = Number.NaN;
  let lines = "";
  return () => {
    const now = Math.floor(clock.wallTime() / 1000);
    if (now === second) return lines;
    second = now;
    const timeout = Math.floor(idleMs() / 1000);
    lines = `Date: ${httpDate(now * 1000)}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${timeout}\r\n\r\n`;
    return lines;
  };
}

type ConnectionParts<Route> = PlainFrontParts<Route> & {
  readonly endOfHead: () => string;
  readonly leave: () => void;
};

/** The last head on a connection: a request whose head has the same bytes has the same route. */
type KnownHead<Route> = { readonly bytes: Buffer; readonly head: PlainHead; readonly route: Route };

class PlainConnection<Route> {
  readonly socket: Socket;
  #known: KnownHead<Route> | undefined;
  /** The response that is being made or sent. */
  #response: PlainResponse | undefined;
  /** The beginning of a request, or the bytes that came while another request was being answered. */
  #unserved: Buffer | undefined;
  #wasUsed = false;
  /** When `look` last found that bytes were read or written. */
  #seenMs: number;
  #seenBytes = 0;
  readonly #parts: ConnectionParts<Route>;

  constructor(socket: Socket, parts: ConnectionParts<Route>) {
    this.socket = socket;
    this.#parts = parts;
    this.#seenMs = parts.clock.now();
    socket.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
    socket.on("error", ignore);
  }

  /** Ends a connection that is silent for too long. Hands an unfinished request to Node's HTTP, which has a timeout. */
  look({ headersMs, idleMs, silenceMs }: ReturnType<PlainFrontOptions["bounds"]>): void {
    const { clock, refuse } = this.#parts;
    const { bytesRead, bytesWritten, writableLength } = this.socket;
    const bytes = bytesRead + bytesWritten - writableLength;
    if (bytes !== this.#seenBytes) {
      this.#seenBytes = bytes;
      this.#seenMs = clock.now();
      return;
    }
    const forMs = clock.now() - this.#seenMs;
    if (this.#response) {
      if (forMs > silenceMs) this.socket.destroy();
    } else if (this.#unserved) this.#handOver(this.#unserved);
    else if (this.#wasUsed) {
      if (forMs > idleMs) this.socket.destroy();
    } else if (forMs > headersMs) refuse(this.socket, "408 Request Timeout");
  }

  endIfIdle(): void {
    if (this.#wasUsed && !this.#response && !this.#unserved) this.socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      this.#take(chunk);
    } catch (error) {
      this.#parts.guard.failed("bytes", this.socket, error);
    }
  };

  #take(chunk: Buffer): void {
    const before = this.#unserved;
    this.#unserved = undefined;
    const bytes = before ? Buffer.concat([before, chunk]) : chunk;
    if (!this.#response) this.#read(bytes, before === undefined);
    else {
      this.#unserved = bytes;
      if (bytes.length > MOST_UNSERVED) this.socket.pause();
    }
  }

  /** @param mayGoOn Whether an unfinished request may wait for more bytes: some callers send head and body separately. */
  #read(bytes: Buffer, mayGoOn: boolean): void {
    const known = this.#headOf(bytes);
    const whole = typeof known === "string" ? ENDLESS : known.head.bytes + known.head.bodyBytes;
    if (typeof known !== "string" && bytes.length === whole) this.#serve(bytes, known);
    else if (known !== "other" && mayGoOn && bytes.length < whole) this.#unserved = bytes;
    else this.#handOver(bytes);
  }

  #headOf(bytes: Buffer): KnownHead<Route> | "unfinished" | "other" {
    const before = this.#known;
    if (before && startsWith(bytes, before.bytes)) return before;
    const head = readPlainHead(bytes);
    if (typeof head === "string") return head;
    const route = this.#parts.routeOf(head);
    if (route === undefined) return "other";
    const copy = Buffer.allocUnsafeSlow(head.bytes);
    bytes.copy(copy, 0, 0, head.bytes);
    const known = { bytes: copy, head, route };
    this.#known = head.bytes <= LONGEST_KNOWN ? known : undefined;
    return known;
  }

  #serve(bytes: Buffer, { head, route }: KnownHead<Route>): void {
    const { serve, endOfHead } = this.#parts;
    this.#wasUsed = true;
    const body = bytes.subarray(head.bytes);
    const response = new PlainResponse(
      this.socket,
      { endOfHead, isLast: head.isLast },
      this.#onAnswered,
    );
    this.#response = response;
    const done = serve(new PlainRequest(head, this.socket, body), response, route);
    if (done instanceof Promise) done.catch(this.#onRejected);
  }

  readonly #onRejected = (error: unknown): void =>
    this.#parts.guard.failed("request", this.socket, error);

  readonly #onAnswered = (isLast: boolean): void => {
    this.#response = undefined;
    if (isLast) {
      this.socket.destroySoon();
      return;
    }
    const next = this.#unserved;
    if (!next) return;
    this.#unserved = undefined;
    this.socket.resume();
    this.#read(next, true);
  };

  #handOver(bytes: Buffer): void {
    const { socket } = this;
    socket.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    this.#parts.leave();
    socket.pause();
    socket.unshift(bytes);
    this.#parts.handOver(socket);
    socket.resume();
  }

  /** The caller ended its side of the connection, and so, as in Node's HTTP, waits for no answer. */
  readonly #onEnd = (): void => {
    if (this.#unserved && !this.#response) this.#parts.refuse(this.socket, "400 Bad Request");
    else this.socket.end();
  };

  readonly #onClose = (): void => {
    this.#parts.leave();
    this.#response?.close();
  };
}

/** In bytes: a longer head is not kept, since each of thousands of connections keeps one. */
const LONGEST_KNOWN = 1_024;
/** In bytes: so much is read while a request is being answered, since only reading shows that a caller has left. */
const MOST_UNSERVED = 16_384;

const ENDLESS = Number.POSITIVE_INFINITY;

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.length > start.length && start.compare(bytes, 0, start.length) === 0;

const ignore = (): void => undefined;

/** The response to a plain request, with the members of a `ServerResponse` that the server uses. */
export class PlainResponse {
  readonly socket: Socket;
  /** Whether the system has taken all bytes. */
  writableFinished = false;
  #head = "";
  #isLast: boolean;
  #saysLast = false;
  #isChunked = true;
  #onClose: (() => void) | undefined;
  readonly #endOfHead: () => string;
  readonly #onAnswered: (isLast: boolean) => void;

  /** @param onAnswered Called when the system has taken all bytes, with whether the connection ends then. */
  constructor(
    socket: Socket,
    { endOfHead, isLast }: { readonly endOfHead: () => string; readonly isLast: boolean },
    onAnswered: (isLast: boolean) => void,
  ) {
    this.socket = socket;
    this.#endOfHead = endOfHead;
    this.#isLast = isLast;
    this.#onAnswered = onAnswered;
  }

  get destroyed(): boolean {
    return this.socket.destroyed || this.socket.writableEnded;
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Calls the task once: when the system has taken all bytes, or never will. */
  on(_event: "close", task: () => void): this {
    this.#onClose = task;
    return this;
  }

  /** Calls the task of `on`. To be called when the response was sent, or its connection has ended. */
  close(): void {
    const task = this.#onClose;
    this.#onClose = undefined;
    task?.();
  }

  /** Sets the head, which leaves with the body's first bytes. @throws Error for a value that would begin a header. */
  writeHead(status: number, headers: readonly string[]): this {
    let head = status === 200 ? OK : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let at = 0; at < headers.length; at += 2) {
      const [name = "", value = ""] = [headers[at], headers[at + 1]];
      if (NOT_A_VALUE.test(value)) throw new Error(`no value of a header: ${name}`);
      if (name === "Content-Length") this.#isChunked = false;
      if (name === "Connection") this.#saysLast = true;
      head += `${name}: ${value}\r\n`;
    }
    this.#head = head;
    return this;
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = "";
    const framed = this.#isChunked ? `${head}Transfer-Encoding: chunked\r\n` : head;
    const ending = this.#endOfHead();
    if (!this.#isLast && !this.#saysLast) return framed + ending;
    this.#isLast = true;
    const date = ending.slice(0, ending.indexOf("\r\n") + 2);
    return `${framed}${date}${this.#saysLast ? "" : CLOSE}\r\n`;
  }

  /** Gathers all writes until `uncork` or `end`. */
  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  /**
   * Writes a part of the body.
   *
   * @param done Called when the system has taken the part; with an error when it never will.
   * @returns false when so many bytes wait that the next part should wait until the socket has room.
   */
  write(part: RawJson, done?: (error?: Error | null) => void): boolean {
    const socket = this.socket;
    const isLoose = !this.#isChunked || part.length === 0; // a chunk without bytes would be the last one
    if (this.#head === "" && isLoose) return socket.write(part, done);
    socket.cork();
    if (this.#head !== "") socket.write(this.#takeHead(), "latin1");
    if (!isLoose) socket.write(`${Buffer.byteLength(part).toString(16)}\r\n`, "latin1");
    const hasRoom = socket.write(part, done);
    if (!isLoose) socket.write("\r\n", "latin1");
    socket.uncork();
    return hasRoom;
  }

  /**
   * @param body The whole body, of the length that the headers announce, where nothing was written before.
   * @param done As in `write`.
   */
  end(body = "", encoding: "latin1" = "latin1", done?: (error?: Error | null) => void): void {
    const socket = this.socket;
    const isCorked = socket.writableCorked > 0;
    const head = this.#head === "" ? "" : this.#takeHead();
    const rest = this.#isChunked ? LAST_CHUNK : body;
    const onWritten = done
      ? (error?: Error | null) => {
          this.#onWritten(error);
          done(error);
        }
      : this.#onWritten;
    socket.write(head + rest, encoding, onWritten);
    if (isCorked) socket.uncork();
  }

  /** The response as a stream, for `pipeline`. */
  asStream(): Writable {
    // The writer sees that the stream ended, and the connection has the error, so the stream's own error is ignored.
    return new Writable({
      write: (chunk: Buffer, _, done) => void this.write(chunk, done),
      final: (done) => this.end("", "latin1", done),
      destroy: (error, done) => {
        if (!this.writableFinished) this.destroy();
        done(error);
      },
    }).on("error", ignore);
  }

  readonly #onWritten = (error?: Error | null): void => {
    if (error) return; // the connection ends now
    this.writableFinished = true;
    this.close();
    this.#onAnswered(this.#isLast);
  };
}

const CLOSE = "Connection: close\r\n";
const LAST_CHUNK = "0\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\n";
/** The characters that a header's value must not have: a line feed would begin another header. */
const NOT_A_VALUE = /[^\t\x20-\x7e]/;
