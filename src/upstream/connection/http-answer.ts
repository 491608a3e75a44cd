// One answer over HTTP as it comes in; the first thing that decides its fate wins.
import type { Dispatcher } from "undici";
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import { type BodyReader, type Exchange, reasonOf, stopped } from "./connection.ts";
import { readRetryAfter } from "./retry-after.ts";
import type { WholeBody } from "./whole-body.ts";

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

export class HttpAnswer implements Dispatcher.DispatchHandler {
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
