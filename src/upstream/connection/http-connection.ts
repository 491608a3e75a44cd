// Speaks to a node over HTTP: keep-alive, a bounded number of sockets, the answer as one buffer.
import { unescape as percentDecoded } from "node:querystring";
import { type Dispatcher, Pool } from "undici";
import type { Clock } from "../../lib/clock.ts";
import {
  type BodyReader,
  type Connection,
  type ConnectionOptions,
  type Exchange,
  reasonOf,
  stopped,
} from "./connection.ts";
import { WholeBody } from "./whole-body.ts";

const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

export class HttpConnection implements Connection {
  /** Answers that are waited for: undici itself forgets those of a socket that failed to connect. */
  readonly #open = new Set<Answer>();
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #options: ConnectionOptions;
  readonly #clock: Pick<Clock, "after">;

  constructor(options: ConnectionOptions, parts: { clock: Pick<Clock, "after"> }) {
    const url = new URL(options.url);
    this.#options = options;
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

  send({ json }: { json: string }, signal: AbortSignal, reader?: BodyReader): Promise<Exchange> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const answer = new Answer({ whole: new WholeBody(this.#options), reader }, resolve);
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
  #limitTime(answer: Answer, isRead: boolean): () => void {
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

/** Takes one answer; the first thing that decides its fate wins. */
class Answer implements Dispatcher.DispatchHandler {
  /** Called with each piece of the body. */
  onChunk: () => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #isSettled = false;
  #cleanUp: () => void = () => undefined;
  #body: BodyReader;
  readonly #whole: BodyReader;
  readonly #resolve: (exchange: Exchange) => void;

  constructor(
    { whole, reader = whole }: { whole: BodyReader; reader?: BodyReader | undefined },
    resolve: (exchange: Exchange) => void,
  ) {
    this.#whole = whole;
    this.#body = reader;
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
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    // What is no answer is not what the reader waits for.
    if (status !== 200) this.#body = this.#whole;
    if (this.#body.announce?.(Number(headers["content-length"])) === false) this.#stop();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    this.onChunk();
    if (!this.#body.add(chunk)) this.#stop();
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    const body = this.#body.finish() ?? Buffer.alloc(0);
    this.#settle({ kind: "answered", status: this.#status, body });
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
    this.#cleanUp();
    this.#resolve(exchange);
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
