// The HTTP server for callers: admits connections, routes requests, sends responses, and drains at the end.

import type { Socket } from "node:net";
import type { Logger } from "pino";
import { RequestScope } from "../calls/caller.ts";
import { refusal } from "../calls/response.ts";
import type { Config } from "../config/schema.ts";
import { heldBytesOf } from "../jsonrpc/raw-json.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { CallbackGuard } from "./callback-guard.ts";
import type { CallerSockets } from "./caller-sockets.ts";
import { type Connections, Pipeline } from "./connections.ts";
import { type Endpoint, type EndpointRoute, requestRoute } from "./endpoint.ts";
import type { EventStreams } from "./event-streams.ts";
import {
  type HttpExchange,
  type HttpUpgrade,
  hasOneHost,
  Listener,
  type ListenerBounds,
  type ListenerOptions,
  type PlainExchange,
} from "./listener.ts";
import { answerPreflight } from "./preflight.ts";
import type { Handshakes } from "./refusals.ts";
import { type RespondParts, respond } from "./respond.ts";
import { SlowReaders, type SlowReadersOptions } from "./slow-readers.ts";

export type HttpServerOptions = Omit<ListenerOptions, "bounds"> & {
  readonly timeouts: Pick<
    Config["timeouts"],
    "headersMs" | "bodyMs" | "idleMs" | "callMs" | "leaveMs"
  >;
  readonly reading: SlowReadersOptions;
};

export type HttpServerParts = {
  readonly endpoint: Endpoint;
  readonly connections: Connections;
  readonly sockets: CallerSockets;
  readonly streams: EventStreams;
  /** The reasons why some network is not ready; empty when all are. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  /** Lines about networks that are ready but not as they should be, for `/readyz`. */
  readonly notes: () => readonly string[];
  readonly memory: Pick<MemoryBudget, "hold" | "release">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly handshakes: Pick<Handshakes, "begin">;
  readonly metrics: Pick<
    Metrics,
    | "requestStarted"
    | "requestEnded"
    | "answerCut"
    | "tlsHandshake"
    | "http2Ended"
    | "certificateExpires"
  >;
  readonly clock: Clock;
  readonly log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  readonly guard: CallbackGuard;
};

export class HttpServer {
  readonly #listener: Listener<EndpointRoute>;
  #options: HttpServerOptions;
  readonly #parts: HttpServerParts;
  readonly #respondParts: RespondParts;
  /** The pipelined requests of each connection. */
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  readonly #slowReaders: SlowReaders;
  #isDraining = false;
  /** When `/readyz` was last requested, by the clock's `now`. */
  #readinessAskedMs = Number.NEGATIVE_INFINITY;

  constructor(options: HttpServerOptions, parts: HttpServerParts) {
    this.#options = options;
    this.#parts = parts;
    this.#respondParts = {
      turns: parts.turns,
      onBroken: (error) => {
        parts.metrics.answerCut("broken");
        parts.log.debug({ err: error }, "an answer could not be sent completely");
      },
    };
    this.#slowReaders = new SlowReaders(options.reading, {
      clock: parts.clock,
      onCut: () => parts.metrics.answerCut("slow"),
      isExempt: (socket) => parts.sockets.isOnlyPushed(socket),
    });
    this.#listener = new Listener(
      { ...options, bounds: boundsOf(options) },
      {
        serve: (exchange) => this.#serve(exchange),
        plain: {
          routeOf: (head): EndpointRoute | undefined => {
            const route = requestRoute(head);
            return route.kind === "endpoint" ? route : undefined;
          },
          serve: (exchange, route) => this.#serveCalls(exchange, route),
          clock: parts.clock,
        },
        onConnection: (socket) => this.#admit(socket),
        onCarried: (socket, by, as) => {
          parts.connections.carry(socket, by, as);
          // The connection carries other streams too, so its byte counts do not tell those of one stream.
          this.#slowReaders.watch(socket, as === "connection" ? by : socket);
        },
        tls: {
          onHandshake: parts.metrics.tlsHandshake,
          onEnded: parts.metrics.http2Ended,
          onCertificate: (ms) => parts.metrics.certificateExpires("callers", ms),
          ...parts,
        },
        upgrade: (upgrade) => this.#upgrade(upgrade),
        tunnelHeaders: ["Allow: POST, OPTIONS"],
        guard: parts.guard,
      },
    );
  }

  #upgrade(upgrade: HttpUpgrade): Promise<void> | void {
    const { request } = upgrade;
    const route = requestRoute(request);
    const { sockets } = this.#parts;
    if (!hasOneHost(request)) sockets.refuse(upgrade, errors.notOneHost());
    else if (route.kind === "endpoint") return sockets.upgrade({ ...upgrade, route });
    else if (route.kind === "two keys") sockets.refuse(upgrade, errors.twoKeys());
    else sockets.refuse(upgrade, errors.unknownPath());
  }

  #admit(socket: Socket): boolean {
    const { connections, handshakes } = this.#parts;
    const { isSecure } = this.#listener;
    if (isSecure && !handshakes.begin(socket)) return false;
    const admission = connections.admit(socket);
    if (admission !== "admitted") {
      if (!isSecure) this.#listener.answer(socket, NOT_ADMITTED[admission], ["Retry-After: 1"]);
      return false;
    }
    if (!isSecure) this.#slowReaders.watch(socket);
    return true;
  }

  /** Changes the certificate of new connections. */
  setCertificate(files: HttpServerOptions["tls"]): void {
    this.#listener.setCertificate(files);
  }

  /** Changes the bounds of new connections and new requests. */
  reconfigure(bounds: Pick<HttpServerOptions, "timeouts" | "reading">): void {
    this.#options = { ...this.#options, ...bounds };
    this.#slowReaders.reconfigure(bounds.reading);
    this.#listener.setTimeouts(boundsOf(this.#options));
  }

  /** @returns The port that is in use, which the system chose if the options say 0. */
  listen(): Promise<number> {
    return this.#listener.listen();
  }

  /**
   * Answers `/readyz` with 503 for a moment, so that load balancers notice, then accepts no new connections and lets
   * running calls end. Cuts off the remaining connections after `withinMs`.
   */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const leavingMs = this.#leavingMs(withinMs);
    if (leavingMs > 0) {
      this.#parts.log.info(
        { forMs: leavingMs },
        "leaving: /readyz answers 503, and callers are still let in",
      );
      await this.#parts.clock.sleep(leavingMs);
    }
    await this.#drain(withinMs - leavingMs);
  }

  /** The time for load balancers to notice, in milliseconds; 0 where none requested `/readyz` in the last minute. */
  #leavingMs(withinMs: number): number {
    const { leaveMs } = this.#options.timeouts;
    const isAsked = this.#parts.clock.now() - this.#readinessAskedMs <= ASKED_WITHIN_MS;
    return isAsked ? Math.min(leaveMs, withinMs / 2) : 0;
  }

  async #drain(withinMs: number): Promise<void> {
    const closed = Promise.all([this.#listener.close(), this.#parts.sockets.drain(withinMs)]);
    const { clock, connections } = this.#parts;
    const cancels = [
      clock.after(Math.min(withinMs, FIRST_BYTE_MS), () => connections.endUnused()),
      clock.after(withinMs, () => this.#listener.terminate()),
    ];
    await closed;
    for (const cancel of cancels) cancel();
  }

  #serve(exchange: HttpExchange): Promise<void> | void {
    const { request } = exchange;
    const route = requestRoute(request);
    if (!hasOneHost(request)) return this.#refuse(exchange, errors.notOneHost());
    if (route.kind === "endpoint" && request.method === "POST")
      return this.#serveCalls(exchange, route);
    if (route.kind === "events" && request.method === "GET")
      return this.#serveEvents(exchange, route);
    return this.#serveOther(exchange, route);
  }

  #serveOther(
    exchange: HttpExchange,
    route: ReturnType<typeof requestRoute>,
  ): Promise<void> | void {
    const { request } = exchange;
    request.resume();
    if (route.kind === "unknown") this.#refuse(exchange, errors.unknownPath());
    else if (route.kind === "two keys") this.#refuse(exchange, errors.twoKeys());
    else if (route.kind === "health") this.#tell(exchange, "ok");
    else if (route.kind === "readiness") return this.#tellReadiness(exchange);
    else if (request.method === "OPTIONS") return this.#servePreflight(exchange, route);
    else {
      const verb = VERBS[route.kind];
      this.#refuse(exchange, errors.verbNotAllowed(request.method ?? "this verb", verb), verb);
    }
  }

  async #serveEvents(exchange: HttpExchange, route: EndpointRoute): Promise<void> {
    const { request } = exchange;
    request.resume();
    const pipeline = this.#pipelineOf(request.socket);
    const turn = pipeline.begin();
    if (turn !== undefined) await turn;
    pipeline.close();
    await this.#parts.streams.serve({ ...exchange, route });
  }

  async #servePreflight(
    exchange: HttpExchange,
    route: EndpointRoute & { readonly kind: keyof typeof VERBS },
  ): Promise<void> {
    const { request, response } = exchange;
    const pipeline = this.#pipelineOf(request.socket);
    const turn = pipeline.begin();
    if (turn !== undefined) await turn;
    const scope = this.#scopeOf(exchange, pipeline);
    const allowOrigin = await this.#parts.endpoint.originForPreflight({ request, route, scope });
    const verb = VERBS[route.kind];
    if (!response.destroyed)
      answerPreflight(exchange, { allowOrigin, verb, close: this.#isLast(request.socket) });
  }

  async #serveCalls(
    { request, response, requestId }: HttpExchange | PlainExchange,
    route: EndpointRoute,
  ): Promise<void> {
    const { metrics, clock, endpoint } = this.#parts;
    const pipeline = this.#pipelineOf(request.socket);
    const turn = pipeline.begin();
    if (turn !== undefined) await turn;
    const startedAt = clock.now();
    metrics.requestStarted();
    const scope = this.#scopeOf({ request, response }, pipeline);
    const answered = await endpoint.answer({ request, route, requestId, scope });
    let bytesOut = 0;
    if (answered && !response.destroyed) {
      const { response: answer, allowOrigin } = answered;
      scope.hold("unsent", heldBytesOf(answer.pieces, answer.buffer));
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
      status: answered?.response.status ?? 499, // nginx's status for a caller that left
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

  #scopeOf(
    { request, response }: Pick<HttpExchange | PlainExchange, "request" | "response">,
    pipeline: Pipeline,
  ): RequestScope {
    const scope = new RequestScope({ deadlineMs: this.#options.timeouts.callMs }, this.#parts);
    const running = this.#parts.connections.requestsOn(request.socket);
    running?.add(scope);
    response.on("close", () => {
      try {
        running?.delete(scope);
        pipeline.end();
        scope.end(response.writableFinished);
      } catch (error) {
        this.#parts.guard.failed("request", request.socket, error);
      }
    });
    return scope;
  }

  /** Whether the connection ends with its current answer. */
  #isLast(socket: Socket): boolean {
    return this.#isDraining || this.#parts.connections.endsAfterAnswer(socket);
  }

  async #tellReadiness(exchange: HttpExchange): Promise<void> {
    this.#readinessAskedMs = this.#parts.clock.now();
    const reasons = this.#isDraining ? ["draining"] : await this.#parts.whyNotReady();
    if (reasons.length === 0) this.#tell(exchange, ["ready", ...this.#parts.notes()].join("\n"));
    else this.#tell(exchange, reasons.join("\n"), 503);
  }

  #tell({ response, requestId }: HttpExchange, text: string, status = 200): void {
    const headers = ["Content-Type", "text/plain; charset=utf-8", "X-Request-Id", requestId];
    if (this.#isLast(response.req.socket)) headers.push("Connection", "close");
    const body = Buffer.from(`${text}\n`);
    headers.push("Content-Length", String(body.length));
    response.writeHead(status, headers).end(body);
  }

  #refuse({ response, requestId }: HttpExchange, error: RpcError, verb = "POST"): void {
    const close = this.#isLast(response.req.socket);
    const options = { ...NO_PAGE, requestId, close, allow: `${verb}, OPTIONS` };
    void respond(response, refusal("null", error), options, this.#respondParts);
  }
}

/** The verb that each route takes beside OPTIONS. */
const VERBS = { endpoint: "POST", events: "GET" } as const;

const NO_PAGE = { allowOrigin: "*", acceptEncoding: undefined, isPage: false } as const;

const NOT_ADMITTED = {
  "too many of this address": "429 Too Many Requests",
  full: "503 Service Unavailable",
} as const;

/** How long a drain leaves unused connections open, since a first request may be on its way. */
const FIRST_BYTE_MS = 1_000;

const READING_GRACE_MS = 5_000;

const ASKED_WITHIN_MS = 60_000;

const boundsOf = ({ timeouts }: HttpServerOptions): ListenerBounds => ({
  ...timeouts,
  // Longer than any wait for an answer, so only a caller that has stopped reading its answer is cut off.
  silenceMs: timeouts.callMs + timeouts.idleMs + READING_GRACE_MS,
});
