// Speaks to a node over HTTP: keep-alive, a bounded number of sockets, the answer as one buffer.
import { unescape as percentDecoded } from "node:querystring";
import type { Dispatcher } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";
import { readTime } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import { type ArrivingMemory, WholeBody } from "./arriving-message.ts";
import {
  type BodyReader,
  type Connection,
  type ConnectionOptions,
  type Exchange,
  type NodeRequest,
  reasonOf,
  stopped,
} from "./connection.ts";

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

/** Nobody is left alone for longer: a slip of the node's clock must not cost us the node. */
const LONGEST_MS = 3_600_000;
/** The one form of HTTP's dates that is still written (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @returns undefined when there is no such header, or nothing can be made of it. */
export function readRetryAfter(
  header: string | string[] | undefined,
  clock: Pick<Clock, "wallTime">,
): number | undefined {
  const text = (typeof header === "string" ? header : header?.[0])?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : untilDate(text, clock);
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_MS);
}

/** NaN when the text is no date. */
const untilDate = (text: string, clock: Pick<Clock, "wallTime">): number =>
  HTTP_DATE.test(text) ? readTime(text) - clock.wallTime() : Number.NaN;

type AnswerParts = {
  /** Takes what is no answer, and the answer where nobody else reads it. */
  readonly whole: WholeBody;
  readonly reader?: BodyReader | undefined;
  /** Large answers are read one after the other. */
  readonly turns?: Pick<Turns, "next"> | undefined;
  readonly clock: Pick<Clock, "wallTime">;
};

/** In bytes: a millisecond of work. */
const LARGE = 262_144;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** One answer over HTTP as it comes in; the first thing that decides its fate wins. */
class HttpAnswer implements Dispatcher.DispatchHandler {
  /** Called with each piece of the body. */
  onChunk: () => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfterMs: number | undefined;
  #isSettled = false;
  #cleanUp: () => void = () => undefined;
  #body: BodyReader;
  readonly #parts: AnswerParts;
  readonly #resolve: (exchange: Exchange) => void;

  constructor(parts: AnswerParts, resolve: (exchange: Exchange) => void) {
    this.#parts = parts;
    this.#body = parts.reader ?? parts.whole;
    this.#resolve = resolve;
  }

  afterwards(cleanUp: () => void): void {
    this.#cleanUp = cleanUp;
  }

  giveUp(exchange: Exchange): void {
    this.#settle(exchange);
    this.#controller?.abort(new Error(exchange.kind));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Thrown, not aborted: nothing was written, and aborting would cost the next call its socket.
    if (this.#isSettled) throw new Error("given up while it waited for a socket");
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    this.#status = status;
    if (status === 429 || status === 503)
      this.#retryAfterMs = readRetryAfter(headers["retry-after"], this.#parts.clock);
    // What is no answer is not what the reader waits for.
    if (status !== 200) this.#body = this.#parts.whole;
    if (this.#body.announce?.(Number(headers["content-length"])) === false) this.#stop();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    this.onChunk();
    if (!this.#body.add(chunk)) this.#stop();
  }

  onResponseEnd(): void {
    const { whole, turns } = this.#parts;
    if (turns && whole.bytes > LARGE) void turns.next().then(() => this.#finish());
    else this.#finish();
  }

  #finish(): void {
    if (this.#isSettled) return;
    const body = this.#body.finish() ?? Buffer.alloc(0);
    const status = this.#status;
    this.#settle({ kind: "answered", status, body, retryAfterMs: this.#retryAfterMs });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle({ kind: "unreachable", reason: reasonOf(error) });
  }

  #stop(): void {
    this.giveUp(stopped(this.#body));
  }

  #settle(exchange: Exchange): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#parts.whole.drop();
    this.#cleanUp();
    this.#resolve(exchange);
  }
}
