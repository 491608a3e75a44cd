// Listens for HTTP on one port, for callers or for operators: bounds in time and size, an id for each request, and
// the answers for which node has no response object, since the request was none or never came.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

export type ListenerOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly reusePort?: boolean;
  readonly bounds: ListenerBounds;
};

/** In milliseconds. */
export type ListenerBounds = {
  readonly headersMs: number;
  readonly bodyMs: number;
  /** Between two requests of a connection. */
  readonly idleMs: number;
  /** While nothing is read or written, also when an answer is made meanwhile. */
  readonly silenceMs: number;
};

/** One request, and what it is answered with. */
export type HttpExchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
};

/** A request to turn its connection into a WebSocket. */
export type HttpUpgrade = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request. */
  readonly head: Buffer;
  readonly requestId: string;
};

export type ListenerParts = {
  readonly serve: (exchange: HttpExchange) => void;
  /** Called for each connection that was made. */
  readonly onConnection: (socket: Socket) => void;
  /** Called for each request to turn its connection into a WebSocket; left out: they are requests as all others. */
  readonly upgrade?: (upgrade: HttpUpgrade) => void;
  /** The headers of a refused CONNECT. */
  readonly tunnelHeaders?: readonly string[];
};

/** How often node looks for connections that are over their time. */
const CHECK_EVERY_MS = 1_000;

export class Listener {
  readonly #server: Server;
  readonly #nextRequestId = requestIds();
  readonly #options: ListenerOptions;

  constructor(options: ListenerOptions, parts: ListenerParts) {
    this.#options = options;
    this.#server = createServer(
      {
        connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, options.bounds.headersMs),
        maxHeaderSize: 16_384,
        requireHostHeader: false, // node's own refusal has no request id; see hasOneHost
        // Other protocols that are offered (h2c) are passed over, as HTTP allows.
        shouldUpgradeCallback: (request) =>
          parts.upgrade !== undefined && request.headers.upgrade?.toLowerCase() === "websocket",
      },
      (request, response) => parts.serve({ request, response, requestId: this.#nextRequestId() }),
    );
    this.bound(options.bounds);
    this.#server.on("upgrade", (request, socket, head) =>
      parts.upgrade?.({ request, socket, head, requestId: this.#nextRequestId() }),
    );
    const headers = parts.tunnelHeaders ?? [];
    this.#server.on("connection", parts.onConnection);
    this.#server.on("clientError", (error, socket) => this.#answerBroken(error, socket as Socket));
    this.#server.on("connect", (_, socket) =>
      this.answer(socket as Socket, "405 Method Not Allowed", headers),
    );
    this.#server.on("checkExpectation", (_, response) => {
      response.writeHead(417, { "X-Request-Id": this.#nextRequestId() }).end();
    });
  }

  /** Other bounds: for connections that are made, and requests that come, from now on. */
  bound({ headersMs, bodyMs, idleMs, silenceMs }: ListenerBounds): void {
    this.#server.headersTimeout = headersMs;
    this.#server.requestTimeout = headersMs + bodyMs;
    this.#server.keepAliveTimeout = idleMs;
    this.#server.timeout = silenceMs;
  }

  /** @returns The port, also when any was asked for. */
  listen(): Promise<number> {
    const { host, port, reusePort = false } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, reusePort }, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** No new connections, and idle ones end. Resolves when the last one has ended. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    return closed;
  }

  /** Ends all connections, also those on which a request is answered. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /**
   * Answers on a socket without a request, and ends it. Best effort: a caller that does not read, or still sends,
   * may miss it.
   *
   * @param status Such as `400 Bad Request`.
   */
  answer(socket: Socket, status: string, headers: readonly string[] = []): void {
    const lines = [
      `HTTP/1.1 ${status}`,
      "Connection: close",
      "Content-Length: 0",
      `X-Request-Id: ${this.#nextRequestId()}`,
      ...headers,
    ];
    socket.end(`${lines.join("\r\n")}\r\n\r\n`, () => socket.destroy());
  }

  /** A request that is no HTTP, or came too slowly. */
  #answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    // Something was answered on it already: two answers to one request would be taken for two answers.
    if (error.code === "ECONNRESET" || !socket.writable || socket.bytesWritten > 0)
      socket.destroy();
    else this.answer(socket, STATUSES[error.code ?? ""] ?? "400 Bad Request");
  }
}

const STATUSES: Readonly<Record<string, string | undefined>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Ids by which a caller's complaint finds its line in the log: unique across processes and cheap to make. */
export function requestIds(): () => string {
  const start = randomBytes(6).toString("hex");
  let count = 0;
  return () => {
    count += 1;
    return `${start}-${count.toString(36)}`;
  };
}

/**
 * Whether a request says once for whom it is: with two Host headers, a proxy and we might read different ones.
 * HTTP/1.0 has none where nobody asks for a name (probes of health).
 */
export function hasOneHost({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, "rawHeaders" | "httpVersion">): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0");
}
