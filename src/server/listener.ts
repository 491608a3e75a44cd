// Listens for HTTP on one port, for callers or for operators: bounds in time and size, an id for each request, and
// the answers for which node has no response object, since the request was none or never came.
import { randomBytes } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Http2Front, type Http2FrontParts } from "./http2-front.ts";
import { PlainFront, type PlainFrontParts, type PlainResponse } from "./plain-front.ts";
import type { PlainRequest } from "./plain-request.ts";
import { type CertificateFiles, TlsFront, type TlsFrontParts } from "./tls-front.ts";

export type ListenerOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly reusePort?: boolean;
  readonly bounds: ListenerBounds;
  /** Left out: plain HTTP. */
  readonly tls?: ListenerTls | undefined;
};

export type ListenerTls = CertificateFiles & {
  /** Whether HTTP/2 is offered; left out: not. */
  readonly http2?: boolean | undefined;
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

/** The same, where it came over a connection that is read here. */
export type PlainExchange = {
  readonly request: PlainRequest;
  readonly response: PlainResponse;
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

export type ListenerParts<Route = never> = {
  readonly serve: (exchange: HttpExchange) => void;
  /** For plain requests over HTTP/1.1; left out: they are requests as all others. */
  readonly plain?: Pick<PlainFrontParts<Route>, "routeOf" | "clock"> & {
    readonly serve: (exchange: PlainExchange, route: Route) => void;
  };
  /** Called for each connection that was made. @returns Whether it was let in. */
  readonly onConnection: (socket: Socket) => boolean;
  /** Called for what is carried by a connection that was let in: what TLS makes of it, a stream of HTTP/2. */
  readonly onCarried: (socket: Socket, by: Socket, as: "connection" | "stream") => void;
  readonly tls: Pick<TlsFrontParts, "onHandshake" | "onCertificate" | "clock" | "log"> &
    Pick<Http2FrontParts, "onEnded">;
  /** Called for each request to turn its connection into a WebSocket; left out: they are requests as all others. */
  readonly upgrade?: (upgrade: HttpUpgrade) => void;
  /** The headers of a refused CONNECT. */
  readonly tunnelHeaders?: readonly string[];
};

/** How often node looks for connections that are over their time. */
const CHECK_EVERY_MS = 1_000;

export class Listener<Route = never> {
  readonly #server: Server | SecureServer;
  readonly #plain: PlainFront<Route> | undefined;
  readonly #nextRequestId = requestIds();
  readonly #front: TlsFront | undefined;
  readonly #http2: Http2Front | undefined;
  readonly #options: ListenerOptions;
  #bounds: ListenerBounds;

  /** @throws Error when the certificate cannot be used. */
  constructor(options: ListenerOptions, parts: ListenerParts<Route>) {
    this.#options = options;
    this.#bounds = options.bounds;
    const http: ServerOptions = {
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, options.bounds.headersMs),
      maxHeaderSize: 16_384,
      requireHostHeader: false, // node's own refusal has no request id; see hasOneHost
      // Other protocols that are offered (h2c) are passed over, as HTTP allows.
      shouldUpgradeCallback: (request) =>
        parts.upgrade !== undefined && request.headers.upgrade?.toLowerCase() === "websocket",
    };
    const serve = (request: IncomingMessage, response: ServerResponse): void =>
      parts.serve({ request, response, requestId: this.#nextRequestId() });
    if (options.tls?.http2) this.#http2 = this.#http2For(serve, parts);
    this.#front =
      options.tls &&
      this.#frontFor(options.tls, {
        ...parts,
        createServer: (tls) => createSecureServer({ ...tls, ...http }, serve),
      });
    this.#server = this.#front?.server ?? createServer(http, serve);
    this.bound(options.bounds);
    this.#server.on("upgrade", (request, socket, head) =>
      parts.upgrade?.({ request, socket, head, requestId: this.#nextRequestId() }),
    );
    const headers = parts.tunnelHeaders ?? [];
    const [byNode] = this.#server.listeners("connection");
    const serveByNode =
      this.#front?.serveByNode ?? ((socket) => byNode?.call(this.#server, socket));
    this.#plain = this.#plainFor(parts, serveByNode);
    if (!this.#front) this.#letIn(parts, serveByNode);
    this.#server.on("clientError", (error, socket) => this.#answerBroken(error, socket as Socket));
    this.#server.on("connect", (_, socket) =>
      this.answer(socket as Socket, "405 Method Not Allowed", headers),
    );
    this.#server.on("checkExpectation", (_, response) => {
      response.writeHead(417, { "X-Request-Id": this.#nextRequestId() }).end();
    });
  }

  #letIn({ onConnection }: ListenerParts<Route>, serveByNode: (socket: Socket) => void): void {
    this.#server.removeAllListeners("connection").on("connection", (socket: Socket) => {
      if (onConnection(socket) && this.#plain) this.#plain.take(socket);
      else serveByNode(socket);
    });
  }

  #plainFor(
    { plain }: ListenerParts<Route>,
    handOver: (socket: Socket) => void,
  ): PlainFront<Route> | undefined {
    if (!plain) return undefined;
    const serve: PlainFrontParts<Route>["serve"] = (request, response, route) =>
      plain.serve({ request, response, requestId: this.#nextRequestId() }, route);
    const refuse: PlainFrontParts<Route>["refuse"] = (socket, status) =>
      this.answer(socket, status);
    const own = { ...plain, serve, handOver, refuse };
    return new PlainFront({ bounds: () => this.#bounds }, own);
  }

  #frontFor(
    tls: ListenerTls,
    parts: ListenerParts<Route> & Pick<TlsFrontParts, "createServer">,
  ): TlsFront {
    const { onConnection, onCarried, createServer: create } = parts;
    const handshakeMs = (): number => this.#bounds.headersMs;
    return new TlsFront(
      { ...tls, http2: tls.http2 ?? false, handshakeMs },
      {
        ...parts.tls,
        createServer: create,
        admit: onConnection,
        onSecured: (secured, raw) => {
          onCarried(secured, raw, "connection");
          if (secured.alpnProtocol === "h2") this.#http2?.take({ secured, raw });
          else if (this.#plain) this.#plain.take(secured);
          else this.#front?.serveByNode(secured);
        },
      },
    );
  }

  #http2For(serve: Http2FrontParts["serve"], { onCarried, tls }: ListenerParts<Route>): Http2Front {
    const onStream = (socket: Socket, by: Socket): void => onCarried(socket, by, "stream");
    return new Http2Front({ bounds: () => this.#bounds }, { serve, onStream, ...tls });
  }

  /** Whether what is written before a handshake would be read by nobody. */
  get isSecure(): boolean {
    return this.#front !== undefined;
  }

  /** Other files, for connections that are made from now on. */
  certify(files: CertificateFiles | undefined): void {
    if (files) this.#front?.reconfigure(files);
  }

  /** Other bounds: for connections that are made, and requests that come, from now on. */
  bound(bounds: ListenerBounds): void {
    const { headersMs, bodyMs, idleMs, silenceMs } = bounds;
    this.#bounds = bounds;
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
    this.#front?.close();
    this.#http2?.close();
    this.#plain?.closeIdle();
    this.#server.closeIdleConnections();
    return closed;
  }

  /** Ends all connections, also those on which a request is answered. */
  cut(): void {
    this.#plain?.cut();
    this.#http2?.cut();
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
