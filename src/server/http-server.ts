// The HTTP server for callers: takes requests in, bounds them in time and size, and sends replies.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "pino";
import { RequestScope } from "../calls/request-scope.ts";
import { refusal } from "../calls/response.ts";
import { heldBytesOf } from "../jsonrpc/raw-json.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import { answerBarely, answerBroken, type BareAnswer } from "./bare-answer.ts";
import type { Connections } from "./connections.ts";
import type { Endpoint } from "./endpoint.ts";
import { hasOneHost } from "./host-header.ts";
import { Pipeline } from "./pipeline.ts";
import { answerPreflight } from "./preflight.ts";
import { requestIds } from "./request-id.ts";
import { type RespondParts, respond } from "./respond.ts";
import { type Route, routeOf } from "./route.ts";
import { SlowReaders, type SlowReadersOptions } from "./slow-readers.ts";

export type HttpServerOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly reusePort?: boolean;
  readonly timeouts: {
    readonly headersMs: number;
    readonly bodyMs: number;
    readonly idleMs: number;
    readonly callMs: number;
  };
  readonly reading: SlowReadersOptions;
};

export type HttpServerParts = {
  readonly endpoint: Endpoint;
  readonly connections: Connections;
  /** Why some network is not ready; empty when all are. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "isOver" | "next">;
  readonly metrics: Pick<Metrics, "requestStarted" | "requestEnded" | "answerCut">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "debug">;
};

export class HttpServer {
  readonly #server: Server;
  #options: HttpServerOptions;
  readonly #parts: HttpServerParts;
  readonly #nextRequestId = requestIds();
  readonly #respondParts: RespondParts;
  /** Whose turn it is on each connection. */
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  readonly #slowReaders: SlowReaders;
  #isDraining = false;

  constructor(options: HttpServerOptions, parts: HttpServerParts) {
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
    this.#server.on("connection", (socket) => this.#admit(socket));
    this.#server.on("clientError", (error, socket) => {
      answerBroken(error, socket as Socket, this.#nextRequestId());
    });
    this.#server.on("connect", (_, socket) => this.#answer(socket as Socket, NO_TUNNEL));
    this.#server.on("checkExpectation", (_, response) => {
      response.writeHead(417, { "X-Request-Id": this.#nextRequestId() }).end();
    });
  }

  #admit(socket: Socket): void {
    const admission = this.#parts.connections.admit(socket);
    if (admission === "admitted") this.#slowReaders.watch(socket);
    else this.#answer(socket, NOT_ADMITTED[admission]);
  }

  /** Other bounds: for connections that are made, and requests that come, from now on. */
  reconfigure(bounds: Pick<HttpServerOptions, "timeouts" | "reading">): void {
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
    if (!hasOneHost(request)) return this.#refuse(response, requestId, errors.notOneHost());
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
      const turn = this.#pipelineOf(request.socket).begin();
      if (turn !== undefined) await turn;
      const scope = this.#scopeOf(request, response);
      const allowOrigin = await this.#parts.endpoint.originForPreflight({ request, route, scope });
      const close = this.#isLast(request.socket);
      if (!response.destroyed) answerPreflight(response, { requestId, allowOrigin, close });
      return;
    }
    return this.#refuse(response, requestId, errors.verbNotAllowed(request.method ?? "this verb"));
  }

  async #serveCalls(incoming: {
    request: IncomingMessage;
    response: ServerResponse;
    route: Route & { kind: "endpoint" };
    requestId: string;
  }): Promise<void> {
    const { request, response, requestId } = incoming;
    const { metrics, clock, endpoint } = this.#parts;
    const turn = this.#pipelineOf(request.socket).begin();
    if (turn !== undefined) await turn;
    const startedAt = clock.now();
    metrics.requestStarted();
    const scope = this.#scopeOf(request, response);
    const answered = await endpoint.answer({ ...incoming, scope });
    let bytesOut = 0;
    if (answered && !response.destroyed) {
      const { reply, allowOrigin } = answered;
      scope.hold("unsent", heldBytesOf(reply.pieces));
      const options = {
        requestId,
        allowOrigin,
        acceptEncoding: request.headers["accept-encoding"],
        isPage: request.headers.origin !== undefined,
        close: answered.isLast || this.#isLast(request.socket),
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

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#pipelines.get(socket);
    if (known) return known;
    const pipeline = new Pipeline(socket, this.#parts);
    this.#pipelines.set(socket, pipeline);
    return pipeline;
  }

  #scopeOf(request: IncomingMessage, response: ServerResponse): RequestScope {
    const scope = new RequestScope({ deadlineMs: this.#options.timeouts.callMs }, this.#parts);
    const running = this.#parts.connections.requestsOn(request.socket);
    const pipeline = this.#pipelineOf(request.socket);
    running?.add(scope);
    response.on("close", () => {
      running?.delete(scope);
      pipeline.end();
      scope.end(response.writableFinished);
    });
    return scope;
  }

  /** Whether the connection ends with the answer that is being sent. */
  #isLast(socket: Socket): boolean {
    return this.#isDraining || this.#parts.connections.endsAfterAnswer(socket);
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
    const headers = ["Content-Type", "text/plain; charset=utf-8", "X-Request-Id", requestId];
    if (this.#isLast(response.req.socket)) headers.push("Connection", "close");
    const body = Buffer.from(`${text}\n`);
    headers.push("Content-Length", String(body.length));
    response.writeHead(status, headers).end(body);
  }

  #refuse(response: ServerResponse, requestId: string, error: RpcError): void {
    const options = {
      requestId,
      allowOrigin: "*",
      acceptEncoding: undefined,
      isPage: false,
      close: this.#isLast(response.req.socket),
    };
    void respond(response, refusal("null", error), options, this.#respondParts);
  }

  #answer(socket: Socket, answer: Omit<BareAnswer, "requestId">): void {
    answerBarely(socket, { ...answer, requestId: this.#nextRequestId() });
  }
}

const NO_TUNNEL = { status: "405 Method Not Allowed", headers: ["Allow: POST, OPTIONS"] };
const NOT_ADMITTED = {
  "too many of this address": { status: "429 Too Many Requests", headers: ["Retry-After: 1"] },
  full: { status: "503 Service Unavailable", headers: ["Retry-After: 1"] },
} as const;

/** How often node looks for connections that are over their time. */
const CHECK_EVERY_MS = 1_000;
const READING_GRACE_MS = 5_000;

function boundedServer(
  options: HttpServerOptions,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const { timeouts } = options;
  const server = createServer(
    {
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, timeouts.headersMs),
      maxHeaderSize: 16_384,
      requireHostHeader: false, // node's own refusal has no request id; see hasOneHost
    },
    serve,
  );
  setBounds(server, options);
  return server;
}

function setBounds(server: Server, { timeouts }: HttpServerOptions): void {
  server.headersTimeout = timeouts.headersMs;
  server.requestTimeout = timeouts.headersMs + timeouts.bodyMs;
  server.keepAliveTimeout = timeouts.idleMs;
  // A caller who stops reading its answer is cut off, but not one who waits for it.
  server.timeout = timeouts.callMs + timeouts.idleMs + READING_GRACE_MS;
}
