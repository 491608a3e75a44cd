// The HTTP server for callers: takes requests in, bounds them in time and size, and sends replies.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "pino";
import { refusal } from "../calls/reply.ts";
import { RequestScope } from "../calls/request-scope.ts";
import { heldBytesOf } from "../jsonrpc/envelope.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Endpoint } from "./endpoint.ts";
import { answerPreflight } from "./preflight.ts";
import { requestIds } from "./request-id.ts";
import { type RespondParts, respond } from "./respond.ts";
import { type Route, routeOf } from "./route.ts";
import { SlowReaders, type SlowReadersOptions } from "./slow-readers.ts";

export type DoorOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly reusePort?: boolean;
  readonly connections: number;
  readonly timeouts: {
    readonly headersMs: number;
    readonly bodyMs: number;
    readonly idleMs: number;
    readonly callMs: number;
  };
  readonly reading: SlowReadersOptions;
};

export type DoorParts = {
  readonly endpoint: Endpoint;
  /** Why some network is not ready; empty when all are. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "isOver" | "next">;
  readonly metrics: Pick<Metrics, "requestStarted" | "requestEnded" | "answerCut">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "debug">;
};

export class Door {
  readonly #server: Server;
  #options: DoorOptions;
  readonly #parts: DoorParts;
  readonly #nextRequestId = requestIds();
  readonly #respondParts: RespondParts;
  /** The requests that are being answered on each connection. */
  readonly #scopes = new WeakMap<Socket, Set<RequestScope>>();
  readonly #slowReaders: SlowReaders;
  #isDraining = false;

  constructor(options: DoorOptions, parts: DoorParts) {
    this.#options = options;
    this.#parts = parts;
    this.#respondParts = {
      turns: parts.turns,
      onBroken: (error) => {
        parts.metrics.answerCut("broken");
        parts.log.debug({ err: error }, "an answer could not be sent to its end");
      },
    };
    this.#slowReaders = new SlowReaders(options.reading, {
      clock: parts.clock,
      onCut: () => parts.metrics.answerCut("slow"),
    });
    this.#server = boundedServer(options, (request, response) => {
      void this.#serve(request, response);
    });
    this.#server.on("connection", (socket) => this.#watch(socket));
    this.#server.on("clientError", (error, socket) => this.#answerBroken(error, socket as Socket));
  }

  /**
   * Node tells a response that its socket closed only when it is that response's turn: of calls that were
   * pipelined on one connection, the later ones would never end.
   */
  #watch(socket: Socket): void {
    const scopes = new Set<RequestScope>();
    this.#scopes.set(socket, scopes);
    this.#slowReaders.watch(socket);
    socket.once("close", () => {
      for (const scope of scopes) scope.end(false);
    });
  }

  /** Other bounds: for connections that are made, and requests that come, from now on. */
  reconfigure(bounds: Pick<DoorOptions, "connections" | "timeouts" | "reading">): void {
    this.#options = { ...this.#options, ...bounds };
    this.#slowReaders.reconfigure(bounds.reading);
    setBounds(this.#server, this.#options);
  }

  /** Starts to listen. @returns The port, also when any was asked for. */
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

  /** No new connections; running calls end, for at most `withinMs`; then what is left is cut. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const cancel = this.#parts.clock.after(withinMs, () => this.#server.closeAllConnections());
    await closed;
    cancel();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = this.#nextRequestId();
    const route = routeOf(request.url ?? "");
    if (route.kind === "endpoint" && request.method === "POST") {
      return this.#serveCalls({ request, response, route, requestId });
    }
    request.resume();
    if (route.kind === "unknown") return this.#refuse(response, requestId, errors.unknownPath());
    if (route.kind === "health")
      return this.#tell(response, requestId, { status: 200, text: "ok" });
    if (route.kind === "readiness") return this.#tellReadiness(response, requestId);
    if (request.method === "OPTIONS") {
      const scope = this.#scopeOf(request, response);
      const allowOrigin = await this.#parts.endpoint.originForPreflight({ request, route, scope });
      if (!response.destroyed) answerPreflight(response, { requestId, allowOrigin });
      return;
    }
    return this.#refuse(response, requestId, errors.verbNotAllowed(request.method ?? "this verb"));
  }

  async #serveCalls(visit: {
    request: IncomingMessage;
    response: ServerResponse;
    route: Route & { kind: "endpoint" };
    requestId: string;
  }): Promise<void> {
    const { request, response, requestId } = visit;
    const { metrics, clock, endpoint } = this.#parts;
    const startedAt = clock.now();
    metrics.requestStarted();
    const scope = this.#scopeOf(request, response);
    const answered = await endpoint.answer({ ...visit, scope });
    let bytesOut = 0;
    if (answered && !response.destroyed) {
      const { reply, allowOrigin } = answered;
      scope.hold("unsent", heldBytesOf(reply.pieces));
      const options = {
        requestId,
        allowOrigin,
        acceptEncoding: request.headers["accept-encoding"],
        isPage: request.headers.origin !== undefined,
        close: this.#isDraining,
      };
      const sent = respond(response, reply, options, this.#respondParts);
      bytesOut = typeof sent === "number" ? sent : await sent;
    }
    metrics.requestEnded({
      status: answered?.reply.status ?? 499, // nginx's number for a caller that left
      seconds: (clock.now() - startedAt) / 1000,
      bytesIn: answered?.bytesIn ?? 0,
      bytesOut,
    });
  }

  #scopeOf(request: IncomingMessage, response: ServerResponse): RequestScope {
    const scope = new RequestScope({ deadlineMs: this.#options.timeouts.callMs }, this.#parts);
    const scopes = this.#scopes.get(request.socket);
    scopes?.add(scope);
    response.on("close", () => {
      scopes?.delete(scope);
      scope.end(response.writableFinished);
    });
    return scope;
  }

  async #tellReadiness(response: ServerResponse, requestId: string): Promise<void> {
    const reasons = this.#isDraining ? ["draining"] : await this.#parts.whyNotReady();
    const isReady = reasons.length === 0;
    this.#tell(response, requestId, {
      status: isReady ? 200 : 503,
      text: isReady ? "ready" : reasons.join("\n"),
    });
  }

  #tell(
    response: ServerResponse,
    requestId: string,
    { status, text }: { status: number; text: string },
  ): void {
    const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Request-Id": requestId };
    response.writeHead(status, headers).end(`${text}\n`);
  }

  #refuse(response: ServerResponse, requestId: string, error: RpcError): void {
    const options = {
      requestId,
      allowOrigin: "*",
      acceptEncoding: undefined,
      isPage: false,
      close: this.#isDraining,
    };
    void respond(response, refusal("null", error), options, this.#respondParts);
  }

  /** A request that is no HTTP, or came too slowly: node has no response object for it. */
  #answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === "ECONNRESET" || !socket.writable || socket.bytesWritten > 0) {
      socket.destroy();
      return;
    }
    const status = STATUS_OF_BROKEN[error.code ?? ""] ?? "400 Bad Request";
    socket.end(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${this.#nextRequestId()}\r\n\r\n`,
    );
  }
}

const STATUS_OF_BROKEN: Readonly<Record<string, string | undefined>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** How often node looks for connections that are over their time. */
const CHECK_EVERY_MS = 1_000;
const READING_GRACE_MS = 5_000;

function boundedServer(
  options: DoorOptions,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const { timeouts } = options;
  const server = createServer(
    {
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, timeouts.headersMs),
      maxHeaderSize: 16_384,
    },
    serve,
  );
  setBounds(server, options);
  return server;
}

function setBounds(server: Server, { connections, timeouts }: DoorOptions): void {
  server.headersTimeout = timeouts.headersMs;
  server.requestTimeout = timeouts.headersMs + timeouts.bodyMs;
  server.keepAliveTimeout = timeouts.idleMs;
  server.maxConnections = connections;
  // A caller who stops reading its answer is cut off, but not one who waits for it.
  server.timeout = timeouts.callMs + timeouts.idleMs + READING_GRACE_MS;
}
