// One answer of a node over HTTP, from the request to the last byte of the decoded body.

import type { Dispatcher } from "undici";
import { readTime } from "../../lib/calendar.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import {
  type BodyReader,
  type Exchange,
  isCutOff,
  type NodeRequest,
  reasonOf,
  stopped,
} from "./connection.ts";
import { Decoding, readCodings } from "./decoding.ts";
import type { WholeBody } from "./whole-body.ts";

export type HttpAnswerParts = {
  readonly clock: Pick<Clock, "after" | "wallTime">;
  readonly turns?: Pick<Turns, "next"> | undefined;
};

/** The number of whole answers that came over a socket. */
export type SocketUse = { answers: number };

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

/** Over HTTP, a request needs no id: its answer comes over the same socket. */
export type SentRequest = Omit<NodeRequest, "id">;

type HttpAnswerOptions = {
  readonly request: SentRequest;
  /** Takes the body of a status other than 200, and any body where there is no `reader`. */
  readonly whole: WholeBody;
  /** Reads the answer as it arrives; the timeout then runs between two chunks. */
  readonly reader: BodyReader | undefined;
  readonly timeoutMs: number;
  readonly signal: Signal;
  /** The set that holds the answer until it is settled. */
  readonly open: Set<HttpAnswer>;
  /** Sends the request again, over a new socket; undefined where the call must not be repeated. */
  readonly sendAgain: ((request: SentRequest, answer: HttpAnswer) => void) | undefined;
};

/** The length from which reading an answer takes a millisecond or more, in bytes. */
const LARGE = 262_144;

/** One answer over HTTP as it arrives; its first outcome counts. Its timeout runs from its creation. */
export class HttpAnswer implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfterMs: number | undefined;
  #isSettled = false;
  #cancelTimeout: (() => void) | undefined;
  #body: BodyReader;
  readonly #onAbort = (): void => this.giveUp({ kind: "aborted" });
  readonly #onTimeout = (): void => this.giveUp({ kind: "timeout" });
  #decoding: Decoding | undefined;
  /** The use of the socket that the request goes over; undefined before it has one. */
  use: SocketUse | undefined;
  /** Nothing of the answer has come, and this is the first attempt. */
  #maySendAgain = true;
  readonly #options: HttpAnswerOptions;
  readonly #parts: HttpAnswerParts;
  readonly #resolve: (exchange: Exchange) => void;

  constructor(
    options: HttpAnswerOptions,
    parts: HttpAnswerParts,
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
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#maySendAgain = false;
    if (status === 429 || status === 503)
      this.#retryAfterMs = readRetryAfter(headers["retry-after"], this.#parts.clock);
    // The reader waits for an answer, not for the text of an error.
    if (status !== 200) this.#body = this.#options.whole;
    const encoding = headers["content-encoding"];
    if (encoding !== undefined) this.#decode(encoding, controller);
    if (this.#decoding || this.#isSettled) return; // the announced length is that of the coded body
    if (this.#body.announce?.(Number(headers["content-length"])) === false) this.#stop();
  }

  #decode(encoding: string | string[], source: Dispatcher.DispatchController): void {
    const read = readCodings(encoding);
    if (read.kind === "unknown") this.#fail(read.reason);
    else if (read.codings.length > 0)
      this.#decoding = new Decoding(read.codings, {
        source,
        take: (piece) => this.#take(piece),
        onEnd: (end) => (end === "whole" ? this.#arrived() : this.#fail("malformed answer")),
      });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#options.reader) this.#limitTime();
    if (this.#decoding) this.#decoding.add(chunk);
    else this.#take(chunk);
  }

  onResponseEnd(): void {
    if (this.use) this.use.answers += 1;
    if (this.#decoding) this.#decoding.end();
    else this.#arrived();
  }

  #take(piece: Buffer): boolean {
    const isWanted = this.#body.add(piece);
    if (!isWanted) this.#stop();
    return isWanted;
  }

  #arrived(): void {
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
    const reason = reasonOf(error);
    // The node may close an idle socket at any time, also while the next request is on its way to it.
    const wasIdle = this.use !== undefined && this.use.answers > 0 && isCutOff(reason);
    const { sendAgain, request } = this.#options;
    if (sendAgain && wasIdle && this.#maySendAgain && !this.#isSettled) {
      this.#maySendAgain = false;
      sendAgain(request, this);
    } else this.#settle({ kind: "unreachable", reason });
  }

  /** Ends an answer whose body cannot be decoded. The status of a refusal counts all the same. */
  #fail(reason: string): void {
    const [status, retryAfterMs] = [this.#status, this.#retryAfterMs];
    if (status === 200) this.giveUp({ kind: "unreachable", reason });
    else this.giveUp({ kind: "answered", status, body: Buffer.alloc(0), retryAfterMs });
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
    this.#decoding?.stop();
    open.delete(this);
    this.#cancelTimeout?.();
    signal.removeEventListener("abort", this.#onAbort);
    this.#resolve(exchange);
  }
}
