// Speaks to a node over HTTP: keep-alive, a bounded number of sockets, the answer as one buffer.
import { unescape as percentDecoded } from "node:querystring";
import Pool from "undici/lib/dispatcher/pool.js"; // all of undici takes a tenth of the start
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import type {
  BodyReader,
  Connection,
  ConnectionOptions,
  Exchange,
  NodeRequest,
} from "./connection.ts";
import { HttpAnswer } from "./http-answer.ts";
import { type ArrivingMemory, WholeBody } from "./whole-body.ts";

type HttpConnectionParts = {
  readonly clock: Pick<Clock, "after" | "wallTime">;
  readonly memory?: ArrivingMemory | undefined;
  readonly turns?: Pick<Turns, "next"> | undefined;
};

const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

export class HttpConnection implements Connection {
  /** Answers that are waited for: undici itself forgets those of a socket that failed to connect. */
  readonly #open = new Set<HttpAnswer>();
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #options: ConnectionOptions;
  readonly #clock: Pick<Clock, "after" | "wallTime">;
  readonly #parts: HttpConnectionParts;

  constructor(options: ConnectionOptions, parts: HttpConnectionParts) {
    const url = new URL(options.url);
    this.#options = options;
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#path = url.pathname + url.search;
    this.#headers = {
      "content-type": "application/json",
      ...basicAuthentication(url),
      ...inLowerCase(options.headers),
    };
    this.#pool = new Pool(url.origin, {
      connections: options.connections,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0, // one timer of our own covers connecting, waiting and reading
      bodyTimeout: 0,
      connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs) },
    });
  }

  send(
    { json, isForCaller, holder, maxBytes = this.#options.responseBytes }: Omit<NodeRequest, "id">,
    signal: AbortSignal,
    reader?: BodyReader,
  ): Promise<Exchange> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const { memory, turns, clock } = this.#parts;
      const responseBytes = Math.min(maxBytes, this.#options.responseBytes);
      const whole = new WholeBody({ responseBytes, isForCaller, holder }, memory);
      const answer = new HttpAnswer({ whole, reader, turns, clock }, resolve);
      const onAbort = (): void => answer.giveUp({ kind: "aborted" });
      const stopWaiting = this.#limitTime(answer, reader !== undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#open.add(answer);
      answer.afterwards(() => {
        this.#open.delete(answer);
        stopWaiting();
        signal.removeEventListener("abort", onAbort);
      });
      const request = {
        path: this.#path,
        method: "POST",
        headers: this.#headers,
        body: json,
      } as const;
      this.#pool.dispatch(request, answer);
    });
  }

  /** @param isRead While it comes: then only its pauses are limited. Returns how to stop. */
  #limitTime(answer: HttpAnswer, isRead: boolean): () => void {
    const start = (): (() => void) =>
      this.#clock.after(this.#options.timeoutMs, () => answer.giveUp({ kind: "timeout" }));
    let cancel = start();
    if (isRead)
      answer.onChunk = (): void => {
        cancel();
        cancel = start();
      };
    return () => cancel();
  }

  async close(): Promise<void> {
    for (const answer of [...this.#open]) answer.giveUp({ kind: "unreachable", reason: "closed" });
    await this.#pool.destroy();
  }
}

/** So that an operator's `Authorization` replaces ours instead of standing beside it. */
const inLowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function basicAuthentication({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`; // unlike decodeURIComponent, never throws
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}
