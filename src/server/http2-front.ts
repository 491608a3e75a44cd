// HTTP/2 (RFC 9113) for callers, over TLS. Presents each stream as a request over a connection of its own, and bounds
// each session: its concurrent streams, resets and invalid frames, and its time without a stream.

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { CallbackGuard } from "./callback-guard.ts";

export type Http2FrontOptions = {
  /** The times until the first request, until a request is whole, and between requests. */
  readonly bounds: () => Pick<Config["timeouts"], "headersMs" | "bodyMs" | "idleMs">;
};

export type Http2FrontParts = {
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called with each stream's stand-in for a socket, and the TCP socket that carries the stream. */
  readonly onStream: (socket: Socket, raw: Socket) => void;
  readonly onEnded: (why: SessionEnd) => void;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly guard: Pick<CallbackGuard, "run">;
};

/** Why the gateway ended a session or stream: a session without a stream, an incomplete request, a protocol error. */
type SessionEnd = "idle" | "slow" | "protocol";

/** RFC 9113 recommends at least 100, and clients assume 100 before they read the settings. */
const STREAMS_AT_ONCE = 100;

const BOUNDS = {
  settings: {
    maxConcurrentStreams: STREAMS_AT_ONCE,
    maxHeaderListSize: 16_384,
    enableConnectProtocol: false,
  },
  maxHeaderListPairs: 100,
  maxSettings: 32,
  /** In megabytes. */
  maxSessionMemory: 4,
  maxSessionInvalidFrames: 50,
  maxSessionRejectedStreams: 200,
  // A token bucket for streams that the client resets: its size, and its tokens per second (CVE-2023-44487).
  streamResetBurst: 200,
  streamResetRate: 20,
} as const;

const LOOK_EVERY_MS = 1_000;

/** A TLS connection whose ALPN chose HTTP/2, and the TCP socket that carries it. */
type Carrier = { readonly secured: TLSSocket; readonly raw: Socket };

type Session = Carrier & {
  /** The requests of the open streams, and when each stream opened. */
  readonly streams: Map<Http2ServerRequest, number>;
  /** When the last stream closed; before that, when the session began. */
  usedAtMs: number;
  hasAsked: boolean;
};

export class Http2Front {
  readonly #server: Http2Server;
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  /** The connection whose session is being created. */
  #arriving: Carrier | undefined;
  readonly #timer: PeriodicTimer;
  readonly #options: Http2FrontOptions;
  readonly #parts: Http2FrontParts;

  constructor(options: Http2FrontOptions, parts: Http2FrontParts) {
    this.#options = options;
    this.#parts = parts;
    const round = (): boolean => this.#lookAtAll();
    this.#timer = new PeriodicTimer({ clock: parts.clock, everyMs: () => LOOK_EVERY_MS, round });
    this.#server = createServer({
      ...BOUNDS,
      Http2ServerResponse: CallerResponse,
    } as object);
    const { guard } = parts;
    this.#server.on("session", (session) =>
      guard.run("session", session, () => this.#begin(session as ServerHttp2Session)),
    );
    this.#server.on("sessionError", () => parts.onEnded("protocol"));
    // Node would answer the last two of these events itself, without a request id, a log line or a metric.
    for (const event of ["request", "connect", "checkExpectation"])
      this.#server.on(event, (request: Http2ServerRequest, response: CallerResponse) =>
        guard.run("request", request.stream, () => this.#serve(request, response)),
      );
  }

  take(carrier: Carrier): void {
    this.#arriving = carrier;
    this.#server.emit("connection", carrier.secured);
    this.#arriving = undefined;
  }

  /** Accepts no new streams. Each session ends with its last stream. */
  close(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  /** Ends all sessions and their connections: a destroyed session alone waits for its caller to close the connection. */
  terminate(): void {
    for (const [session, { secured }] of this.#sessions) {
      session.destroy();
      secured.destroy();
    }
  }

  #begin(session: ServerHttp2Session): void {
    const carrier = this.#arriving;
    if (!carrier) return void session.destroy();
    const usedAtMs = this.#parts.clock.now();
    this.#sessions.set(session, { ...carrier, streams: new Map(), usedAtMs, hasAsked: false });
    session.once("close", () => this.#sessions.delete(session));
    this.#timer.begin();
  }

  #serve(request: Http2ServerRequest, response: CallerResponse): void {
    const { stream } = request;
    const session = stream.session && this.#sessions.get(stream.session as ServerHttp2Session);
    if (!session) return void stream.destroy();
    const { clock, onStream, serve } = this.#parts;
    const { raw, streams } = session;
    session.hasAsked = true;
    streams.set(request, clock.now());
    stream.once("close", () => {
      streams.delete(request);
      session.usedAtMs = clock.now();
    });
    const socket = new StreamSocket(response, raw) as unknown as Socket;
    onStream(socket, raw);
    serve(asOverHttp1(request, socket), response as unknown as ServerResponse);
  }

  #lookAtAll(): boolean {
    for (const [session, state] of this.#sessions) this.#look(session, state);
    return this.#sessions.size > 0;
  }

  #look(session: ServerHttp2Session, { secured, streams, usedAtMs, hasAsked }: Session): void {
    const { clock, onEnded } = this.#parts;
    const { headersMs, bodyMs, idleMs } = this.#options.bounds();
    const now = clock.now();
    if (streams.size === 0 && now - usedAtMs > (hasAsked ? idleMs : headersMs)) {
      onEnded("idle");
      // An earlier round closed the session, but its caller has kept the connection open.
      if (session.closed) secured.destroy();
      else session.close();
      return;
    }
    for (const [request, begunAtMs] of streams) {
      if (request.complete || now - begunAtMs <= headersMs + bodyMs) continue;
      onEnded("slow");
      request.stream.close(constants.NGHTTP2_CANCEL);
    }
  }
}

/** Adapts a request: sets its socket, and a Host header for each different host in `:authority` and `host`. */
function asOverHttp1(request: Http2ServerRequest, socket: Socket): IncomingMessage {
  const { headers, rawHeaders } = request;
  const { ":authority": authority, host = authority } = headers;
  const named = authority === undefined || host === authority ? [host] : [authority, host];
  Object.defineProperties(request, {
    headers: { value: host === undefined ? headers : Object.assign(headers, { host }) },
    rawHeaders: {
      value: [
        ...rawHeaders.filter(
          (_, at) => !/^(:authority|host)$/i.test(rawHeaders[at - (at % 2)] ?? ""),
        ),
        ...named.flatMap((each) => (each === undefined ? [] : ["host", each])),
      ],
    },
    socket: { value: socket },
  });
  return request as unknown as IncomingMessage;
}

class CallerResponse extends Http2ServerResponse {
  /** The bytes of the body that were written, those included that wait to be sent. */
  written = 0;

  /** Replaces `Connection: close`, which HTTP/2 lacks, by closing the session: it ends with its last stream. */
  override writeHead(status: number, headers: unknown = []): this {
    const all = headers as readonly string[];
    const kept = all.filter((_, at) => all[at - (at % 2)] !== "Connection");
    super.writeHead(status, kept as never);
    if (kept.length < all.length && !all.includes(EVENTS)) this.stream.session?.close();
    return this;
  }

  override write(chunk: string | Uint8Array, ...more: never[]): boolean {
    this.written += chunk.length;
    return super.write(chunk, ...more);
  }
}

// Node's response lacks `destroyed`, but its type declares a property, which a class cannot override by a getter.
Object.defineProperty(CallerResponse.prototype, "destroyed", {
  get(this: CallerResponse): boolean {
    return this.stream.destroyed;
  },
});

/** An event stream asks for the end of its own stream alone, so its `Connection: close` does not close the session. */
const EVENTS = "text/event-stream";

/** Stands in for the socket of one stream: has its address, its byte counts and its end. */
class StreamSocket {
  readonly #response: CallerResponse;
  readonly #stream: ServerHttp2Stream;
  readonly #raw: Socket;

  constructor(response: CallerResponse, raw: Socket) {
    this.#response = response;
    this.#stream = response.stream;
    this.#raw = raw;
  }

  get remoteAddress(): string | undefined {
    return this.#raw.remoteAddress;
  }

  get destroyed(): boolean {
    return this.#stream.destroyed;
  }

  get writableLength(): number {
    return this.#stream.writableLength;
  }

  get bytesWritten(): number {
    return this.#response.written;
  }

  once(event: "close", listener: () => void): this {
    this.#stream.once(event, listener);
    return this;
  }

  /** Ends this stream alone. */
  destroy(): void {
    this.#stream.destroy();
  }

  /** Has no effect: the session's settings bound its concurrent streams already. */
  pause(): void {}

  resume(): void {}

  setTimeout(): void {}
}
