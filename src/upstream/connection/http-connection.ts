// Sends requests to a node over HTTP: keep-alive, a bounded number of sockets. A repeatable call whose reused socket the
// node closes as the call goes out is sent once more.

import type { Pool as PoolType } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import Pool from "undici/lib/dispatcher/pool.js";
import type { Signal } from "../../lib/cancellation.ts";
import type { BodyReader, Connection, ConnectionOptions, Exchange } from "./connection.ts";
import {
  HttpAnswer,
  type HttpAnswerParts,
  type SentRequest,
  type SocketUse,
} from "./http-answer.ts";
import { httpHeaders } from "./node-headers.ts";
import { type ArrivingMemory, WholeBody } from "./whole-body.ts";

type HttpConnectionParts = HttpAnswerParts & { readonly memory?: ArrivingMemory | undefined };

const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

export class HttpConnection implements Connection {
  /** Answers that have not come: undici itself forgets those of a socket that failed to connect. */
  readonly #open = new Set<HttpAnswer>();
  readonly #pool: Pool;
  /** The pool for second attempts, each on a socket of its own; undefined before the first one. */
  #freshPool: Pool | undefined;
  readonly #target: { readonly path: string; readonly headers: Record<string, string> };
  readonly #options: ConnectionOptions;
  readonly #parts: HttpConnectionParts;

  constructor(options: ConnectionOptions, parts: HttpConnectionParts) {
    const { pathname, search } = new URL(options.url);
    this.#options = options;
    this.#parts = parts;
    this.#target = { path: pathname + search, headers: httpHeaders(options) };
    this.#pool = poolOf(options);
  }

  send(request: SentRequest, signal: Signal, reader?: BodyReader): Promise<Exchange> {
    const { isForCaller, holder, maxBytes = this.#options.responseBytes } = request;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const responseBytes = Math.min(maxBytes, this.#options.responseBytes);
      const whole = new WholeBody({ responseBytes, isForCaller, holder }, this.#parts.memory);
      const { timeoutMs } = this.#options;
      const sendAgain = request.isRepeatable ? this.#sendAgain : undefined;
      const waiting = { request, whole, reader, timeoutMs, signal, open: this.#open, sendAgain };
      const answer = new HttpAnswer(waiting, this.#parts, resolve);
      this.#pool.dispatch(this.#dispatched(request, answer), answer);
    });
  }

  async close(): Promise<void> {
    for (const answer of [...this.#open]) answer.giveUp({ kind: "unreachable", reason: "closed" });
    await Promise.all([this.#pool.destroy(), this.#freshPool?.destroy()]);
  }

  /** Made once: a function for each call would cost memory. */
  readonly #sendAgain = (request: SentRequest, answer: HttpAnswer): void => {
    this.#freshPool ??= poolOf(this.#options);
    // With `reset`, the socket is not used again, so that each second attempt has a new one.
    this.#freshPool.dispatch({ ...this.#dispatched(request, answer), reset: true }, answer);
  };

  #dispatched(request: SentRequest, answer: HttpAnswer): DispatchedRequest {
    const { path, headers: own } = this.#target;
    // The operator's headers win.
    const headers = request.headers === undefined ? own : { ...request.headers, ...own };
    return { path, headers, method: "POST", body: request.json, answer };
  }
}

type DispatchOptions = Parameters<PoolType["dispatch"]>[0];
type DispatchedRequest = DispatchOptions & { readonly answer: HttpAnswer };

const poolOf = (options: ConnectionOptions): Pool =>
  new Pool(new URL(options.url).origin, {
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0, // the timer of `HttpAnswer` covers connecting, waiting and reading
    bodyTimeout: 0,
    connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs) },
    factory: clientThatCounts,
  });

/** A client of the pool, which has one socket at a time, and tells each answer how often that socket was used. */
function clientThatCounts(origin: URL, options: object): Client {
  const client = new Client(origin, options);
  const use: SocketUse = { answers: 0 };
  client.on("connect", () => {
    use.answers = 0;
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (request, handler) => {
    (request as DispatchedRequest).answer.use = use;
    return dispatch(request, handler);
  };
  return client;
}
