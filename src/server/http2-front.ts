// HTTP/2 (RFC 9113) for callers, behind TLS: each stream looks as a request over a connection of its own does, and a
// session is held to bounds that HTTP/1.1 does not need: streams at once, resets, frames, and time without any stream.

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
import type { Clock } from "../lib/clock.ts";

export type Http2FrontOptions = {
  /** In milliseconds: until the first request, between requests, and for a request to be whole. */
  readonly bounds: () => {
    readonly headersMs: number;
    readonly bodyMs: number;
    readonly idleMs: number;
  };
};

export type Http2FrontParts = {
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called with what stands for the connection of each request, and the connection that carries it. */
  readonly onStream: (socket: Socket, raw: Socket) => void;
  readonly onEnded: (why: SessionEnd) => void;
  readonly clock: Pick<Clock, "now" | "after">;
};

/** Why a session was ended by us: nothing was asked over it, a request did not become whole, or it broke the protocol. */
type SessionEnd = "idle" | "slow" | "protocol";

/** What clients open before they are told, and RFC 9113 asks for at least. */
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
  // So many streams may be taken back at once, and so many come back each second (CVE-2023-44487).
  streamResetBurst: 200,
  streamResetRate: 20,
} as const;

const LOOK_EVERY_MS = 1_000;

/** A connection on which HTTP/2 was agreed, and what carries it. */
type Carrier = { readonly secured: TLSSocket; readonly raw: Socket };

type Session = Carrier & {
  /** Those that are open, and since when. */
  readonly streams: Map<Http2ServerRequest, number>;
  /** When it last had a stream, or began. */
  usedAtMs: number;
  hasAsked: boolean;
};

export class Http2Front {
  readonly #server: Http2Server;
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  /** The connection that becomes a session in this moment. */
  #arriving: Carrier | undefined;
  #stopLooking: (() => void) | undefined;
  readonly #options: Http2FrontOptions;
  readonly #parts: Http2FrontParts;

  constructor(options: Http2FrontOptions, parts: Http2FrontParts) {
    this.#options = options;
    this.#parts = parts;
    this.#server = createServer({
      ...BOUNDS,
      Http2ServerResponse: CallerResponse,
    } as object);
    this.#server.on("session", (session) => this.#begin(session as ServerHttp2Session));
    this.#server.on("sessionError", () => parts.onEnded("protocol"));
    // Node answers the last two by itself, past all that an answer here has: a tunnel, and what nobody knows to expect.
    for (const event of ["request", "connect", "checkExpectation"])
      this.#server.on(event, (request, response) => this.#serve(request, response));
  }

  take(carrier: Carrier): void {
    this.#arriving = carrier;
    this.#server.emit("connection", carrier.secured);
    this.#arriving = undefined;
  }

  /** No new streams; sessions end with their last one. */
  close(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  /** A session that is destroyed still waits for its caller to close the connection. */
  cut(): void {
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
    if (!this.#stopLooking) this.#lookLater();
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

  #lookLater(): void {
    this.#stopLooking = this.#parts.clock.after(LOOK_EVERY_MS, () => {
      for (const [session, state] of this.#sessions) this.#look(session, state);
      this.#stopLooking = undefined;
      if (this.#sessions.size > 0) this.#lookLater();
    });
  }

  #look(session: ServerHttp2Session, { secured, streams, usedAtMs, hasAsked }: Session): void {
    const { clock, onEnded } = this.#parts;
    const { headersMs, bodyMs, idleMs } = this.#options.bounds();
    const now = clock.now();
    if (streams.size === 0 && now - usedAtMs > (hasAsked ? idleMs : headersMs)) {
      onEnded("idle");
      // The session was closed in the round before, and its caller has kept it open.
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

/** The host where HTTP/1.1 has it, each time that it was named; and a socket of its own. */
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
  /** Bytes of the body, also those that wait. */
  written = 0;

  /** `Connection: close` has no place here: the session goes on until its last stream ended, and no new one begins. */
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

// Node's own has none; it is declared as a property, which a class cannot answer by a getter.
Object.defineProperty(CallerResponse.prototype, "destroyed", {
  get(this: CallerResponse): boolean {
    return this.stream.destroyed;
  },
});

/** A stream of events takes its stream alone. */
const EVENTS = "text/event-stream";

/** What the server needs of a connection, for one stream: where it comes from, what waits in it, and its end. */
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

  /** The others of its session go on. */
  destroy(): void {
    this.#stream.destroy();
  }

  /** Streams at once are bounded by the session's settings: there is nothing to hold back. */
  pause(): void {}

  resume(): void {}

  setTimeout(): void {}
}
