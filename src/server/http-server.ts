// The HTTP server for callers: takes requests in, bounds them in time and size, and sends replies.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { RequestScope } from "../calls/request-scope.ts";
import { refusal } from "../calls/response.ts";
import { heldBytesOf } from "../jsonrpc/raw-json.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type Connections, Pipeline } from "./connections.ts";
import { type Endpoint, type Route, routeOf } from "./endpoint.ts";
import { hasOneHost, Listener, type ListenerBounds, type ListenerOptions } from "./listener.ts";
import { type RespondParts, respond } from "./respond.ts";
import { SlowReaders, type SlowReadersOptions } from "./slow-readers.ts";

export type HttpServerOptions = Omit<ListenerOptions, "bounds"> & {
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
  readonly #listener: Listener;
  #options: HttpServerOptions;
  readonly #parts: HttpServerParts;
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
    this.#listener = new Listener(
      { ...options, bounds: boundsOf(options) },
      {
        serve: (request, response, requestId) => void this.#serve(request, response, requestId),
        onConnection: (socket) => this.#admit(socket),
        tunnelHeaders: ["Allow: POST, OPTIONS"],
      },
    );
  }

  #admit(socket: Socket): void {
    const admission = this.#parts.connections.admit(socket);
    if (admission === "admitted") this.#slowReaders.watch(socket);
    else this.#listener.answer(socket, NOT_ADMITTED[admission], ["Retry-After: 1"]);
  }

  /** Other bounds: for connections that are made, and requests that come, from now on. */
  reconfigure(bounds: Pick<HttpServerOptions, "timeouts" | "reading">): void {
    this.#options = { ...this.#options, ...bounds };
    this.#slowReaders.reconfigure(bounds.reading);
    this.#listener.bound(boundsOf(this.#options));
  }

  /** @returns The port, also when any was asked for. */
  listen(): Promise<number> {
    return this.#listener.listen();
  }

  /** No new connections; running calls end, for at most `withinMs`; then what is left is cut. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const closed = this.#listener.close();
    const cancel = this.#parts.clock.after(withinMs, () => this.#listener.cut());
    await closed;
    cancel();
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
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
      const { response: answer, allowOrigin } = answered;
      scope.hold("unsent", heldBytesOf(answer.pieces));
      const options = {
        requestId,
        allowOrigin,
        acceptEncoding: request.headers["accept-encoding"],
        isPage: request.headers.origin !== undefined,
        close: answered.isLast || this.#isLast(request.socket),
      };
      const sent = respond(response, answer, options, this.#respondParts);
      bytesOut = typeof sent === "number" ? sent : await sent;
    }
    metrics.requestEnded({
      status: answered?.response.status ?? 499, // nginx's number for a caller that left
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
}

const NOT_ADMITTED = {
  "too many of this address": "429 Too Many Requests",
  full: "503 Service Unavailable",
} as const;

const READING_GRACE_MS = 5_000;

const boundsOf = ({ timeouts }: HttpServerOptions): ListenerBounds => ({
  ...timeouts,
  // A caller who stops reading its answer is cut off, but not one who waits for it.
  silenceMs: timeouts.callMs + timeouts.idleMs + READING_GRACE_MS,
});

/**
 * Answers the question a browser asks before it lets a page call (CORS).
 *
 * @param options.allowOrigin `*`, the caller's own origin, or undefined when the key does not allow it.
 */
function answerPreflight(
  response: ServerResponse,
  options: { requestId: string; allowOrigin: string | undefined; close: boolean },
): void {
  const { requestId, allowOrigin } = options;
  const headers = [
    "X-Request-Id",
    requestId,
    "Allow",
    "POST, OPTIONS",
    "Access-Control-Allow-Methods",
    "POST, OPTIONS",
    "Access-Control-Allow-Headers",
    "Content-Type, Content-Encoding, Accept",
    "Access-Control-Max-Age",
    "86400",
  ];
  if (allowOrigin) headers.push("Access-Control-Allow-Origin", allowOrigin);
  if (options.close) headers.push("Connection", "close");
  if (allowOrigin !== "*") headers.push("Vary", "Origin");
  response.writeHead(204, headers).end();
}
