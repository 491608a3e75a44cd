// Sends requests to a node over HTTP: keep-alive, a bounded number of sockets, the answer as one buffer.

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
  /** Answers that have not come: undici itself forgets those of a socket that failed to connect. */
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
      headersTimeout: 0, // the timer of `HttpAnswer` covers connecting, waiting and reading
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
      // The operator's headers win.
      const headers = request.headers === undefined ? own : { ...request.headers, ...own };
      this.#pool.dispatch({ path, headers, method: "POST", body: json }, answer);
    });
  }

  async close(): Promise<void> {
    for (const answer of [...this.#open]) answer.giveUp({ kind: "unreachable", reason: "closed" });
    await this.#pool.destroy();
  }
}

/** Headers in lower case, so that the operator's `Authorization` replaces that of the URL and is not sent beside it. */
const inLowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function basicAuthentication({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`; // never throws, unlike decodeURIComponent
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** The longest pause for a node: a wrong clock of the node must not cost the gateway the node. */
const LONGEST_MS = 3_600_000;
/** IMF-fixdate, the only form of HTTP dates that is still written (RFC 9110, 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads `Retry-After`, in seconds or as a date. @returns Milliseconds; undefined when it is absent or malformed. */
export function readRetryAfter(
  header: string | string[] | undefined,
  clock: Pick<Clock, "wallTime">,
): number | undefined {
  const text = (typeof header === "string" ? header : header?.[0])?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : untilDate(text, clock);
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_MS);
}

/** The time until a date, in milliseconds; NaN when the text is no date. */
const untilDate = (text: string, clock: Pick<Clock, "wallTime">): number =>
  HTTP_DATE.test(text) ? readTime(text) - clock.wallTime() : Number.NaN;

type AnswerOptions = {
  /** Takes the body of a status other than 200, and any body where there is no `reader`. */
  readonly whole: WholeBody;
  /** Reads the answer as it arrives; the timeout then runs between two chunks. */
  readonly reader: BodyReader | undefined;
  readonly timeoutMs: number;
  readonly signal: Signal;
  /** The set that holds the answer until it is settled. */
  readonly open: Set<HttpAnswer>;
};

/** The length from which reading an answer takes a millisecond or more, in bytes. */
const LARGE = 262_144;

/** One answer over HTTP as it arrives; its first outcome counts. Its timeout runs from its creation. */
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
    // This throws and does not abort: nothing was written, and an abort would cost the next call its socket.
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
    // The reader waits for an answer, not for the text of an error.
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
    // Large answers are read in turns, one after the other.
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

  /** Starts the timeout anew. */
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
  /** A caller waits for the answer: the caller can be told to try again later. */
  readonly isForCaller?: boolean | undefined;
  /** The key for which the bytes count; left out: the gateway itself, or several keys. */
  readonly holder?: MemoryHolder | undefined;
};

/** An answer of more bytes is large. */
const LARGE_BYTES = 65_536;
/** The longest announced length for which a buffer is allocated before the bytes arrive, in bytes. */
const MOST_AT_ONCE = 1 << 22;

/** Collects a body in memory, and counts its bytes there until `finish` or `drop`. */
export class WholeBody implements BodyReader {
  whenStopped: "too large" | "crowded" = "too large";
  /** A buffer of the announced length, which the chunks fill; undefined: `finish` joins the chunks. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #options: WholeBodyOptions;
  readonly #memory: ArrivingMemory | undefined;

  constructor(options: WholeBodyOptions, memory?: ArrivingMemory) {
    this.#options = options;
    this.#memory = memory;
  }

  /** The number of bytes that have arrived. */
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

  /** Forgets the body. */
  drop(): void {
    this.#memory?.release("arriving", this.#bytes, this.#options.holder);
    this.#bytes = 0;
    this.#chunks = [];
    this.#whole = undefined;
  }

  #keep(chunk: Buffer): void {
    // More bytes came than the node announced.
    if (this.#whole) this.#chunks.push(this.#whole.subarray(0, this.#bytes));
    this.#whole = undefined;
    this.#chunks.push(chunk);
  }

  #joined(): Buffer {
    const [only] = this.#chunks;
    // This is the only moment at which memory holds two copies of an answer.
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
  }
}
