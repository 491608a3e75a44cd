// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): one subscription over one GET, for
// clients without WebSockets. A stream counts, and is checked, as a WebSocket of its key, but takes no messages.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type RpcResponse, refusal } from "../calls/response.ts";
import type { RelayedParams } from "../filters/relayed-subscriptions.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { Turns } from "../lib/turns.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { Metrics } from "../observe/metrics.ts";
import { CLOSES, type CloseReason } from "./caller-socket.ts";
import type { CallerSockets } from "./caller-sockets.ts";
import type { AdmittedSocket, Endpoint, EndpointRequest } from "./endpoint.ts";
import type { HttpExchange } from "./listener.ts";
import { REFUSED, type ResponseOptions, respond } from "./respond.ts";
import { takenOf } from "./slow-readers.ts";

export type EventStreamsParts = {
  readonly endpoint: Pick<Endpoint, "admitSocket" | "payerOf" | "countRefusal">;
  readonly sockets: Pick<CallerSockets, "isDraining" | "shortage" | "hold" | "answer" | "newScope">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly metrics: Pick<Metrics, "webSocketClosed">;
  readonly clock: Pick<Clock, "now">;
};

type RoutedExchange = HttpExchange & Pick<EndpointRequest, "route">;

export class EventStreams {
  readonly #parts: EventStreamsParts;

  constructor(parts: EventStreamsParts) {
    this.#parts = parts;
  }

  /** Answers a GET with a stream of events, or an error. Never throws. */
  async serve(exchange: RoutedExchange): Promise<void> {
    const { endpoint, sockets, turns } = this.#parts;
    const { response, requestId } = exchange;
    const scope = sockets.newScope();
    const admitted = await endpoint.admitSocket({ ...exchange, scope });
    scope.end(true);
    if (response.destroyed) return;
    const refused =
      "response" in admitted ? admitted.response : await this.#begin(exchange, admitted);
    if (!refused) return;
    const options = { ...REFUSED, requestId, allowOrigin: admitted.allowOrigin };
    void respond(response, refused, options, { turns, onBroken: () => undefined });
  }

  /** Makes the subscription and opens the stream. @returns The refusal, where the gateway refuses either. */
  async #begin(
    exchange: RoutedExchange,
    { grant, allowOrigin }: AdmittedSocket,
  ): Promise<RpcResponse | undefined> {
    const { request, response, route } = exchange;
    const { sockets, clock, metrics, endpoint } = this.#parts;
    const params = streamParams(request);
    if (params instanceof RpcError) return refusal("null", params);
    const onClosing = (why: CloseReason): void => metrics.webSocketClosed(why);
    const stream = new EventStream({ response, clock, onClosing });
    // A browser's EventSource reconnects when a stream ends, but gives up when the response is an error.
    if (sockets.isDraining) {
      stream.open({ ...exchange, allowOrigin });
      stream.close("restarting");
      return undefined;
    }
    const short = sockets.shortage(grant);
    if (short) {
      endpoint.countRefusal(exchange, grant, short);
      return refusal("null", short);
    }
    const { channel, share } = sockets.hold(stream, exchange, grant);
    const scope = sockets.newScope();
    response.on("close", () => scope.end(false));
    const family = endpoint.payerOf(exchange).network?.facts.family;
    const body = callOf(params, family);
    const answer = await sockets.answer({ request, route, scope, channel }, body, share);
    if (typeof answer === "string") return refusal("null", errors.invalidKey());
    const outcome = outcomeIn(answer);
    if ("status" in outcome) return { ...answer, ...outcome };
    if (response.destroyed) return undefined;
    stream.open({ ...exchange, allowOrigin });
    stream.begin({ id: outcome.id, kind: params[0], count: countAt(params) });
    scope.end(true);
    return undefined;
  }
}

type EventStreamParts = {
  readonly response: ServerResponse;
  readonly clock: Pick<Clock, "now">;
  readonly onClosing: (why: CloseReason) => void;
};

/** In milliseconds: the pause after which a client reconnects. */
const RETRY_MS = 1_000;

/** In milliseconds: an event counts as arrived so long after it was written. */
const ARRIVED_AFTER_MS = 10_000;

const CLOSED = new Error("the stream is closed");

export class EventStream {
  /** The calls under way: none, since a stream carries no calls. */
  readonly running = 0;
  usedAtMs: number;
  /** Resolves when nothing can be sent any more. */
  readonly closed: Promise<void>;
  readonly #close: () => void;
  #id = "";
  #kind = "";
  /** The events that `confirm` waits for, oldest first. */
  readonly #receipts: { readonly sentAtMs: number; settle(hasArrived: boolean): void }[] = [];
  readonly #ending = new AbortController();
  /** Writes one event after the other. */
  readonly #writing = new Mutex();
  /** When the client last took some waiting bytes, or none waited; and the bytes that it had taken then. */
  #tookAtMs: number;
  #taken = 0;
  readonly #parts: EventStreamParts;

  constructor(parts: EventStreamParts) {
    const { response, clock } = parts;
    this.#parts = parts;
    this.usedAtMs = clock.now();
    this.#tookAtMs = this.usedAtMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#close = resolve;
    response.on("close", () => this.#end());
  }

  /** Aborts when the stream ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  open({ requestId, allowOrigin }: Pick<ResponseOptions, "requestId" | "allowOrigin">): void {
    const { response } = this.#parts;
    response.req.socket.setTimeout(0); // an open stream may be silent for long
    const headers = [...HEADERS, "X-Request-Id", requestId];
    if (allowOrigin) headers.push("Access-Control-Allow-Origin", allowOrigin);
    if (allowOrigin !== "*") headers.push("Vary", "Origin");
    response.writeHead(200, headers).write(`retry: ${RETRY_MS}\n`);
  }

  /** Writes the first event, with the subscription's id: a client that is cut off before the next event can resume. */
  begin({ id, kind, count }: { id: string; kind: string; count?: number | undefined }): void {
    this.#id = id;
    this.#kind = kind;
    this.#parts.response.write(this.#event("subscribed", `{"subscription":"${id}"}`, count));
  }

  /**
   * Writes an event, when the client has taken all earlier ones.
   *
   * @param make Makes the notification, whose first and last piece are the envelope around the result. It is called only
   * then. Gives undefined when there is no notification any more.
   * @param count The number of this event in the subscription, which a client sends when it resumes.
   * @returns Whether the event was handed to the network. Rejects with the exception of `make`.
   */
  push(make: () => readonly RawJson[] | undefined, count?: number): Promise<boolean> {
    const { response, clock } = this.#parts;
    return this.#writing.run(async () => {
      const envelope = this.#isOver ? undefined : make();
      if (!envelope) return false;
      this.usedAtMs = clock.now();
      const event = this.#event(this.#kind, envelope.slice(1, -1).map(String).join(""), count);
      return new Promise((resolve) => response.write(event, (error) => resolve(!error)));
    });
  }

  /** Resolves when the network has taken all events so far. */
  drained(): Promise<void> {
    return this.#writing.idle();
  }

  /**
   * Waits until all events so far count as arrived: 10 s after they were written, since no client confirms events. A
   * client that resumes sends the id of the last event that it saw.
   *
   * @returns false when the stream ended first.
   */
  confirm(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#receipts.push({ sentAtMs: this.#parts.clock.now(), settle });
    });
  }

  /**
   * Confirms events, writes a comment to a silent stream, so that no proxy ends it as idle, and closes the stream of a
   * client that takes nothing for twice as long.
   */
  checkLiveness({ pingMs }: { readonly pingMs: number }): void {
    const { response, clock } = this.#parts;
    const taken = takenOf(response.req.socket);
    if (taken > this.#taken || response.writableLength === 0) this.#tookAtMs = clock.now();
    this.#taken = taken;
    if (clock.now() - this.#tookAtMs >= 2 * pingMs) this.close("behind");
    const arrivedBefore = clock.now() - ARRIVED_AFTER_MS;
    while (
      response.writableLength === 0 &&
      (this.#receipts[0]?.sentAtMs ?? Number.POSITIVE_INFINITY) <= arrivedBefore
    )
      this.#receipts.shift()?.settle(true);
    if (this.#isOver || response.writableNeedDrain || clock.now() - this.usedAtMs < pingMs) return;
    this.usedAtMs = clock.now();
    response.write(":\n\n");
  }

  async finish(): Promise<void> {}

  /** Writes the reason as an event, and ends the stream. The client reconnects; a revoked key is refused then. */
  close(why: CloseReason): void {
    if (this.#isOver) return;
    this.#ending.abort(CLOSED);
    this.#parts.onClosing(why);
    const [code, reason] = CLOSES[why];
    this.#parts.response.end(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`);
  }

  terminate(): void {
    this.#parts.response.destroy();
    this.#end(); // Node emits no "close" on a response that waits for its turn in a pipeline
  }

  #end(): void {
    for (const { settle } of this.#receipts.splice(0)) settle(false);
    this.#ending.abort(CLOSED);
    this.#close();
  }

  #event(kind: string, data: string, count?: number): string {
    const id = count === undefined ? this.#id : `${this.#id}:${count}`;
    // A line break between the tokens of a node's JSON would end the event's data.
    return `id: ${id}\nevent: ${kind}\ndata: ${data.replace(/[\r\n]+/g, " ")}\n\n`;
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted || this.#parts.response.writableEnded;
  }
}

const HEADERS = Object.entries({
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  "X-Accel-Buffering": "no", // makes nginx pass on each event at once
  Connection: "close",
}).flat();

const TOPICS = ["topic0", "topic1", "topic2", "topic3"] as const;
const ONCE = ["stream", "epoch", "includeTransactions", "lastEventId"] as const;
const KNOWN: ReadonlySet<string> = new Set([...ONCE, "address", ...TOPICS]);

/** Reads the query. @returns The parameters of the subscription, or an error for the first mistake. */
export function streamParams({
  url = "",
  headers,
}: Pick<IncomingMessage, "url" | "headers">): RelayedParams | RpcError {
  const start = url.indexOf("?");
  const query = new URLSearchParams(start < 0 ? "" : url.slice(start));
  const unknown = [...query.keys()].find((name) => !KNOWN.has(name));
  if (unknown !== undefined)
    return errors.invalidParams(`unknown parameter ${unknown.slice(0, 40)}`, 400);
  const twice = ONCE.find((name) => query.getAll(name).length > 1);
  if (twice) return errors.invalidParams(`parameter ${twice} comes more than once`, 400);
  const kind = query.get("stream");
  if (!kind) return errors.invalidParams("missing parameter stream", 400);
  const whole = query.get("includeTransactions") ?? "false";
  if (whole !== "true" && whole !== "false")
    return errors.invalidParams("includeTransactions must be true or false", 400);
  const asked = [query.get("epoch"), whole === "true", criteriaOf(query)].filter(Boolean);
  // The header goes first: a client that reconnects by itself uses the URL of its first request.
  const resume = headers["last-event-id"] || query.get("lastEventId");
  return [kind, ...asked, ...(resume ? [resumptionOf(String(resume))] : [])];
}

/** Reads the id of an event: the subscription's id, and the number of the event. */
function resumptionOf(eventId: string): object {
  const [, resume = eventId, received] = /^(0x[0-9a-f]+):([0-9]{1,15})$/i.exec(eventId) ?? [];
  return { resume, ...(received !== undefined && { received: Number(received) }) };
}

/** The number of the subscription's last event before this stream; undefined where the client does not tell it. */
function countAt(params: RelayedParams): number | undefined {
  const last = params.at(-1) as { resume?: string; received?: number } | undefined;
  return last?.resume === undefined ? 0 : last.received;
}

/** The log criteria in the query. A parameter that comes several times names alternatives. */
function criteriaOf(query: URLSearchParams): object | undefined {
  const one = (name: string): string | string[] | null => {
    const values = query.getAll(name);
    return values.length > 1 ? values : (values[0] ?? null);
  };
  const address = one("address");
  const topics = TOPICS.map(one);
  while (topics.at(-1) === null) topics.pop();
  if (address === null && topics.length === 0) return undefined;
  return { ...(address !== null && { address }), ...(topics.length > 0 && { topics }) };
}

/** The JSON-RPC call that begins the subscription. */
function callOf(params: RelayedParams, family: Family | undefined): Buffer {
  const method = `${family === "conflux" ? "cfx" : "eth"}_subscribe`;
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: null, method, params }));
}

/** @returns The subscription's id, or the HTTP status that refuses the stream. */
function outcomeIn({ pieces, status }: RpcResponse): { id: string } | { status: number } {
  const outcome = JSON.parse(pieces.map(String).join("")) as Outcome;
  if ("result" in outcome) return { id: outcome.result };
  return { status: status === 200 ? (STATUSES[outcome.error.code] ?? 400) : status };
}

type Outcome = { readonly result: string } | { readonly error: { readonly code: number } };

/** The HTTP statuses, by error code, of errors that a POST answers with 200. */
const STATUSES: Readonly<Record<number, number | undefined>> = { [-32000]: 404, [-32005]: 429 };
