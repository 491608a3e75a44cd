// Listens for HTTP on one port, for callers or for operators. Bounds connections in time and size, gives each request an
// id, and answers where Node has no response object: to bytes that are no request, or a request that came too slowly.
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
import type { Config } from "../config/schema.ts";
import type { CallbackGuard } from "./callback-guard.ts";
import { Http2Front, type Http2FrontParts } from "./http2-front.ts";
import { OpenResponses } from "./open-responses.ts";
import { PlainFront, type PlainFrontParts, type PlainResponse } from "./plain-front.ts";
import type { PlainRequest } from "./plain-request.ts";
import { type CertificateFiles, TlsFront, type TlsFrontParts } from "./tls-front.ts";

export type ListenerOptions = {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Whether other processes listen on the same port. */
  readonly reusePort?: boolean;
  readonly bounds: ListenerBounds;
  /** Left out: plain HTTP. */
  readonly tls?: ListenerTls | undefined;
};

export type ListenerTls = CertificateFiles & {
  /** Whether HTTP/2 is offered; left out: no. */
  readonly http2?: boolean | undefined;
};

export type ListenerBounds = Pick<Config["timeouts"], "headersMs" | "bodyMs" | "idleMs"> & {
  /** The time without a byte read or written, also while an answer is being made. */
  readonly silenceMs: number;
};

/** A request, and its response. */
export type HttpExchange = ExchangeOf<IncomingMessage, ServerResponse>;

/** As `HttpExchange`, for a request that `PlainFront` read from the connection. */
export type PlainExchange = ExchangeOf<PlainRequest, PlainResponse>;

type ExchangeOf<Request, Response> = {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
};

/** A request to turn its connection into a WebSocket. */
export type HttpUpgrade = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** The first bytes behind the request. */
  readonly head: Buffer;
  readonly requestId: string;
};

export type ListenerParts<Route = never> = {
  /** May return a promise, whose rejection ends the connection. */
  readonly serve: (exchange: HttpExchange) => unknown;
  /** Serves plain HTTP/1.1 requests, which `PlainFront` reads; left out: Node's HTTP reads all requests. */
  readonly plain?: Pick<PlainFrontParts<Route>, "routeOf" | "clock"> & {
    readonly serve: (exchange: PlainExchange, route: Route) => unknown;
  };
  /** Called for each new connection. @returns Whether the connection was admitted. */
  readonly onConnection: (socket: Socket) => boolean;
  /** Called for each socket that a connection carries: a TLS socket, or a stream of HTTP/2. */
  readonly onCarried: (socket: Socket, by: Socket, as: "connection" | "stream") => void;
  readonly tls: Pick<TlsFrontParts, "onHandshake" | "onCertificate" | "clock" | "log"> &
    Pick<Http2FrontParts, "onEnded">;
  /** Called for each request to open a WebSocket; left out: such a request is served as any other. */
  readonly upgrade?: (upgrade: HttpUpgrade) => unknown;
  /** The headers of the answer that refuses a CONNECT. */
  readonly tunnelHeaders?: readonly string[];
  /** Hears of each exception in a callback of the servers. */
  readonly guard: Pick<CallbackGuard, "run" | "failed">;
};

/** How often Node checks its connections for timeouts. */
const CHECK_EVERY_MS = 1_000;

export class Listener<Route = never> {
  readonly #server: Server | SecureServer;
  readonly #plain: PlainFront<Route> | undefined;
  readonly #nextRequestId = requestIds();
  readonly #front: TlsFront | undefined;
  readonly #http2: Http2Front | undefined;
  readonly #open = new OpenResponses();
  readonly #options: ListenerOptions;
  #bounds: ListenerBounds;

  /** @throws Error when the certificate cannot be used. */
  constructor(options: ListenerOptions, parts: ListenerParts<Route>) {
    this.#options = options;
    this.#bounds = options.bounds;
    const http: ServerOptions = {
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, options.bounds.headersMs),
      maxHeaderSize: 16_384,
      requireHostHeader: false, // `hasOneHost` checks the header, since Node's own refusal has no request id
      // HTTP allows a server to ignore offers of other protocols, such as h2c.
      shouldUpgradeCallback: (request) =>
        parts.upgrade !== undefined && request.headers.upgrade?.toLowerCase() === "websocket",
    };
    const { guard } = parts;
    const serveStream = (request: IncomingMessage, response: ServerResponse): void =>
      guard.run("request", request.socket, () =>
        parts.serve({ request, response, requestId: this.#nextRequestId() }),
      );
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      this.#open.add(request, response);
      serveStream(request, response);
    };
    if (options.tls?.http2) this.#http2 = this.#http2For(serveStream, parts);
    this.#front =
      options.tls &&
      this.#frontFor(options.tls, {
        ...parts,
        createServer: (tls) => createSecureServer({ ...tls, ...http }, serve),
      });
    this.#server = this.#front?.server ?? createServer(http, serve);
    this.setTimeouts(options.bounds);
    const [byNode] = this.#server.listeners("connection");
    const serveByNode =
      this.#front?.serveByNode ?? ((socket) => byNode?.call(this.#server, socket));
    this.#plain = this.#plainFor(parts, serveByNode);
    if (!this.#front) this.#acceptConnections(parts, serveByNode);
    this.#listenForOthers(parts);
  }

  /** Listens for what is no plain request. */
  #listenForOthers({ guard, upgrade, tunnelHeaders = [] }: ListenerParts<Route>): void {
    this.#server.on("upgrade", (request, socket, head) =>
      guard.run("upgrade", socket, () =>
        this.#open.has(socket)
          ? this.#open.end(socket)
          : upgrade?.({ request, socket, head, requestId: this.#nextRequestId() }),
      ),
    );
    this.#server.on("connect", (_, socket) =>
      guard.run("connect", socket, () =>
        this.#open.has(socket)
          ? this.#open.end(socket)
          : this.answer(socket as Socket, "405 Method Not Allowed", tunnelHeaders),
      ),
    );
    this.#server.on("clientError", (error, socket) =>
      guard.run("broken request", socket, () => this.#answerBroken(error, socket as Socket)),
    );
    this.#server.on("checkExpectation", (request, response) =>
      guard.run("request", request.socket, () => {
        this.#open.add(request, response);
        response.writeHead(417, { "X-Request-Id": this.#nextRequestId() }).end();
      }),
    );
  }

  #acceptConnections(
    { onConnection, guard }: ListenerParts<Route>,
    serveByNode: (socket: Socket) => void,
  ): void {
    this.#server.removeAllListeners("connection").on("connection", (socket: Socket) =>
      guard.run("connection", socket, () => {
        if (onConnection(socket) && this.#plain) this.#plain.take(socket);
        else serveByNode(socket);
      }),
    );
  }

  #plainFor(
    { plain, guard }: ListenerParts<Route>,
    handOver: (socket: Socket) => void,
  ): PlainFront<Route> | undefined {
    if (!plain) return undefined;
    const serve: PlainFrontParts<Route>["serve"] = (request, response, route) =>
      plain.serve({ request, response, requestId: this.#nextRequestId() }, route);
    const refuse: PlainFrontParts<Route>["refuse"] = (socket, status) =>
      this.answer(socket, status);
    const own = { ...plain, serve, handOver, refuse, guard };
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
        guard: parts.guard,
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

  #http2For(
    serve: Http2FrontParts["serve"],
    { onCarried, tls, guard }: ListenerParts<Route>,
  ): Http2Front {
    const onStream = (socket: Socket, by: Socket): void => onCarried(socket, by, "stream");
    return new Http2Front({ bounds: () => this.#bounds }, { serve, onStream, guard, ...tls });
  }

  /** Whether the listener uses TLS, so that a caller can read no answer before its handshake. */
  get isSecure(): boolean {
    return this.#front !== undefined;
  }

  /** Changes the certificate of new connections. */
  setCertificate(files: CertificateFiles | undefined): void {
    if (files) this.#front?.reconfigure(files);
  }

  /** Changes the bounds of new connections and new requests. */
  setTimeouts(bounds: ListenerBounds): void {
    const { headersMs, bodyMs, idleMs, silenceMs } = bounds;
    this.#bounds = bounds;
    this.#server.headersTimeout = headersMs;
    this.#server.requestTimeout = headersMs + bodyMs;
    this.#server.keepAliveTimeout = idleMs;
    this.#server.timeout = silenceMs;
  }

  /** @returns The port, which the system chose if the options say 0. @throws Error when the port is taken. */
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

  /** Accepts no new connections, and ends idle ones. Resolves when the last connection has ended. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#front?.close();
    this.#http2?.close();
    this.#plain?.closeIdle();
    this.#server.closeIdleConnections();
    return closed;
  }

  /** Ends all connections, also those on which a request is being answered. */
  terminate(): void {
    this.#plain?.terminate();
    this.#http2?.terminate();
    this.#server.closeAllConnections();
  }

  /**
   * Answers on a socket without a request, and ends the socket. A caller that does not read, or still sends, may miss the
   * answer.
   *
   * @param status The code and its text, such as `400 Bad Request`.
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

  /** Answers bytes that are no HTTP, and a request that came too slowly. */
  #answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    // After an answer on this connection, the caller would take this one for the answer to its next request.
    const wouldAnswerAnother = socket.bytesWritten > 0 || this.#open.hasWhole(socket);
    if (error.code === "ECONNRESET" || !socket.writable || wouldAnswerAnother)
      this.#open.end(socket);
    else this.answer(socket, STATUSES[error.code ?? ""] ?? "400 Bad Request");
  }
}

const STATUSES: Readonly<Record<string, string | undefined>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Makes ids of requests, by which operators find them in the log: unique across processes, and cheap. */
export function requestIds(): () => string {
  const start = randomBytes(6).toString("hex");
  let count = 0;
  return () => {
    count += 1;
    return `${start}-${count.toString(36)}`;
  };
}

/**
 * Whether a request has one Host header: of two, a proxy and the gateway might read different ones. HTTP/1.0, as in some
 * health probes, needs none.
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
