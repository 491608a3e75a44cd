// Speaks to a node over HTTP: keep-alive, a bounded number of sockets, the answer as one buffer.

import { unescape as percentDecoded } from "node:querystring";
import type { Dispatcher } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";
import { readTime } from "../../lib/calendar.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../../lib/memory-budget.ts";
import type { Turns } from "../../lib/turns.ts";
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
  readonly #target: { readonly path: string; readonly headers: Record<string, string> };
  readonly #options: ConnectionOptions;
  readonly #parts: HttpConnectionParts;

  constructor(options: ConnectionOptions, parts: HttpConnectionParts) {
    const url = new URL(options.url);
    this.#options = options;
    this.#parts = parts;
    const headers = { ...basicAuthentication(url), ...inLowerCase(options.headers) };
    this.#target = {
      path: url.pathname + url.search,
      headers: { "content-type": "application/json", ...headers },
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

  send(request: Omit<NodeRequest, "id">, signal: Signal, reader?: BodyReader): Promise<Exchange> {
    const { json, isForCaller, holder, maxBytes = this.#options.responseBytes } = request;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "aborted" });
      const responseBytes = Math.min(maxBytes, this.#options.responseBytes);
      const whole = new WholeBody({ responseBytes, isForCaller, holder }, this.#parts.memory);
      const { timeoutMs } = this.#options;
      const waiting = { whole, reader, timeoutMs, signal, open: this.#open };
      const answer = new HttpAnswer(waiting, this.#parts, resolve);
      const { path, headers: own } = this.#target;
      // What the operator has configured wins.
      const headers = request.headers === undefined ? own : { ...request.headers, ...own };
      this.#pool.dispatch({ path, headers, method: "POST", body: json }, answer);
    });
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

type AnswerOptions = {
  /** Takes what is no answer, and the answer where nobody else reads it. */
  readonly whole: WholeBody;
  /** With it only the pauses of the answer are limited. */
  readonly reader: BodyReader | undefined;
  readonly timeoutMs: number;
  readonly signal: Signal;
  /** It is one of these until it is settled. */
  readonly open: Set<HttpAnswer>;
};

/** In bytes: a millisecond of work. */
const LARGE = 262_144;

/** One answer over HTTP as it comes in; the first thing that decides its fate wins. Its timeout runs from its creation. */
class HttpAnswer implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfterMs: number | undefined;
  #isSettled = false;
  #cancelTimeout: (() => void) | undefined;
  #body: BodyReader;
  readonly #onAbort = (): void => this.giveUp({ kind: "aborted" });
  readonly #onTimeout = (): void => this.giveUp({ kind: "timeout" });
  readonly #options: AnswerOptions;
  readonly #parts: Pick<HttpConnectionParts, "clock" | "turns">;
  readonly #resolve: (exchange: Exchange) => void;

  constructor(
    options: AnswerOptions,
    parts: Pick<HttpConnectionParts, "clock" | "turns">,
    resolve: (exchange: Exchange) => void,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#body = options.reader ?? options.whole;
    this.#resolve = resolve;
    options.open.add(this);
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#limitTime();
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
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    if (status === 429 || status === 503)
      this.#retryAfterMs = readRetryAfter(headers["retry-after"], this.#parts.clock);
    // What is no answer is not what the reader waits for.
    if (status !== 200) this.#body = this.#options.whole;
    if (this.#body.announce?.(Number(headers["content-length"])) === false) this.#stop();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#options.reader) this.#limitTime();
    if (!this.#body.add(chunk)) this.#stop();
  }

  onResponseEnd(): void {
    const { turns } = this.#parts;
    // Large answers are read one after the other.
    if (turns && this.#options.whole.bytes > LARGE) void turns.next().then(() => this.#finish());
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

  /** From now on. */
  #limitTime(): void {
    this.#cancelTimeout?.();
    this.#cancelTimeout = this.#parts.clock.after(this.#options.timeoutMs, this.#onTimeout);
  }

  #stop(): void {
    this.giveUp(stopped(this.#body));
  }

  #settle(exchange: Exchange): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { whole, open, signal } = this.#options;
    whole.drop();
    open.delete(this);
    this.#cancelTimeout?.();
    signal.removeEventListener("abort", this.#onAbort);
    this.#resolve(exchange);
  }
}

export type ArrivingMemory = Pick<MemoryBudget, "hold" | "release" | "admitLargeAnswer">;

export type WholeBodyOptions = Pick<ConnectionOptions, "responseBytes"> & {
  /** A caller waits for it, who can be told to come back. */
  readonly isForCaller?: boolean | undefined;
  /** On whose behalf it waits; left out: the gateway's own, or of several keys. */
  readonly holder?: MemoryHolder | undefined;
};

/** In bytes: from here on an answer is large. */
const LARGE_BYTES = 65_536;
/** In bytes: what is announced is believed so far. */
const MOST_AT_ONCE = 1 << 22;

export class WholeBody implements BodyReader {
  whenStopped: "too large" | "crowded" = "too large";
  /** Of the announced length, and filled so far; undefined: the chunks are joined at the end. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #options: WholeBodyOptions;
  readonly #memory: ArrivingMemory | undefined;

  constructor(options: WholeBodyOptions, memory?: ArrivingMemory) {
    this.#options = options;
    this.#memory = memory;
  }

  /** So far, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  announce(bytes: number): boolean {
    if (bytes > LARGE_BYTES && bytes <= MOST_AT_ONCE) this.#whole = Buffer.allocUnsafeSlow(bytes);
    return !(bytes > this.#options.responseBytes);
  }

  add(chunk: Buffer): boolean {
    if (this.#whole && this.#bytes + chunk.length <= this.#whole.length)
      chunk.copy(this.#whole, this.#bytes);
    else this.#keep(chunk);
    this.#bytes += chunk.length;
    const { isForCaller, holder } = this.#options;
    this.#memory?.hold("arriving", chunk.length, holder);
    if (this.#bytes > this.#options.responseBytes) return false;
    const isSmall = !isForCaller || this.#bytes <= LARGE_BYTES;
    if (isSmall || this.#memory?.admitLargeAnswer(holder) !== false) return true;
    this.whenStopped = "crowded";
    return false;
  }

  finish(): Buffer {
    const whole = this.#whole ? this.#whole.subarray(0, this.#bytes) : this.#joined();
    this.drop();
    return whole;
  }

  /** It is of no use any more. */
  drop(): void {
    this.#memory?.release("arriving", this.#bytes, this.#options.holder);
    this.#bytes = 0;
    this.#chunks = [];
    this.#whole = undefined;
  }

  #keep(chunk: Buffer): void {
    // More came than was announced.
    if (this.#whole) this.#chunks.push(this.#whole.subarray(0, this.#bytes));
    this.#whole = undefined;
    this.#chunks.push(chunk);
  }

  #joined(): Buffer {
    const [only] = this.#chunks;
    // The chunks and the one buffer: the only moment at which two copies of an answer are there.
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
  }
}
