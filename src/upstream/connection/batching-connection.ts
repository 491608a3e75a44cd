// Calls of one moment as one HTTP request. How many is learned from what becomes of them (`BatchSizes`); what was wrong
// only because they were together is sent again, each by itself.

import { Cancellation, type Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { BatchSizes } from "../capabilities/batch-sizes.ts";
import { type BatchOutcome, readBatchAnswer } from "./batch-answer.ts";
import type { BodyReader, Connection, Exchange, NodeRequest, SharedTurn } from "./connection.ts";

export type BatchingConnectionParts = {
  readonly connection: Pick<Connection, "send" | "close">;
  readonly clock: Pick<Clock, "after" | "now" | "yield">;
  readonly sizes: Pick<
    BatchSizes,
    "isConfigured" | "answered" | "failed" | "late" | "lateMs" | "refused"
  >;
};

/** Made once: an abort without a reason makes an exception with a stack. */
const NOBODY_WAITS = new Error("all callers have left");
/** In bytes: a longer answer to several calls is asked for in parts, unless the operator wants batches. */
const LONGEST_TOGETHER = 1 << 20;

/** A batch that is under way. */
type Sent = { readonly turn: SharedTurn; readonly sentAtMs: number };

export class BatchingConnection implements Connection {
  /** Calls of this turn of the event loop. */
  #gathered = new Map<SharedTurn, BatchedCall[]>();
  readonly #parts: BatchingConnectionParts;

  constructor(parts: BatchingConnectionParts) {
    this.#parts = parts;
  }

  send(request: NodeRequest, signal: Signal, reader?: BodyReader): Promise<Exchange> {
    const { turn } = request;
    const isAlone = turn === undefined || (turn.room === 0 && turn.calls === 1);
    if (isAlone || reader || signal.aborted)
      return this.#parts.connection.send(request, signal, reader);
    return new Promise((resolve) => this.#gather(turn, new BatchedCall(request, signal, resolve)));
  }

  close(): Promise<void> {
    return this.#parts.connection.close();
  }

  #gather(turn: SharedTurn, call: BatchedCall): void {
    const calls = this.#gathered.get(turn);
    if (calls) calls.push(call);
    else this.#gathered.set(turn, [call]);
    if (!calls && this.#gathered.size === 1)
      void this.#parts.clock.yield().then(() => this.#sendGathered());
  }

  #sendGathered(): void {
    const gathered = this.#gathered;
    this.#gathered = new Map();
    for (const [turn, all] of gathered) {
      turn.room = 0;
      const calls = all.filter(({ isSettled }) => !isSettled);
      if (calls.length > 1) void this.#sendTogether(calls, turn);
      else void this.#sendLone(calls[0], turn);
    }
  }

  async #sendLone(call: BatchedCall | undefined, { group }: SharedTurn): Promise<void> {
    if (!call) return;
    const { clock, sizes, connection } = this.#parts;
    const sentAtMs = clock.now();
    const exchange = await connection.send(call.request, call.signal);
    if (group && exchange.kind === "answered") sizes.answered(group, 1, sentAtMs);
    call.settle(exchange);
  }

  #sendEach(calls: readonly BatchedCall[]): void {
    for (const call of calls) {
      if (call.isSettled) continue;
      const sent = this.#parts.connection.send(call.request, call.signal);
      void sent.then((exchange) => call.settle(exchange));
    }
  }

  async #sendTogether(calls: readonly BatchedCall[], turn: SharedTurn): Promise<void> {
    const { clock, connection } = this.#parts;
    const sent: Sent = { turn, sentAtMs: clock.now() };
    const ending = new Cancellation();
    const cancelTimer = this.#watch(calls, sent);
    let waiting = calls.length;
    let isOver = false;
    const onSettled = (): void => {
      waiting -= 1;
      if (waiting === 0 && !isOver) ending.abort(NOBODY_WAITS);
    };
    for (const call of calls) call.onSettled = onSettled;
    const exchange = await connection.send(this.#joined(calls), ending);
    isOver = true;
    cancelTimer();
    this.#settle(calls, readBatchAnswer(exchange), sent);
  }

  /** All are of one key, or of none. */
  #joined(calls: readonly BatchedCall[]): NodeRequest {
    const { isForCaller, holder } = (calls[0] as BatchedCall).request;
    const maxBytes = this.#parts.sizes.isConfigured ? undefined : LONGEST_TOGETHER;
    let json = "";
    for (const { request } of calls) json += json === "" ? `[${request.json}` : `,${request.json}`;
    json += "]";
    // It can stand in one trace alone.
    const headers = calls.find(({ request }) => request.headers)?.request.headers;
    return { id: 0, json, isForCaller, holder, maxBytes, headers };
  }

  /** A slow member does not delay the others for long. @returns How to end it. */
  #watch(calls: readonly BatchedCall[], { turn: { group }, sentAtMs }: Sent): () => void {
    const { clock, sizes } = this.#parts;
    const lateMs = group ? sizes.lateMs(group) : Number.POSITIVE_INFINITY;
    if (!group || lateMs === Number.POSITIVE_INFINITY) return nothing;
    const giveUp = (): void => {
      if (calls.some(({ isSettled }) => !isSettled) && sizes.late(group, sentAtMs))
        this.#sendEach(calls);
    };
    // The answer may be here, and only we are late to read it.
    return clock.after(lateMs, () => void clock.yield().then(giveUp));
  }

  #settle(calls: readonly BatchedCall[], outcome: BatchOutcome, sent: Sent): void {
    this.#learn(calls, outcome, sent);
    if (outcome.kind === "each") {
      const { exchanges } = outcome;
      const answered = calls.filter(({ request }) => exchanges.has(request.id));
      // A node that answers what was not asked has the ids wrong: the others' answers may be their neighbours'.
      if (answered.length === exchanges.size)
        for (const call of answered) call.settle(exchanges.get(call.request.id) as Exchange);
      this.#sendEach(calls); // those that found none
    } else if (outcome.kind === "all" && !outcome.isForBatch)
      for (const call of calls) call.settle(outcome.exchange);
    else this.#sendEach(calls);
  }

  #learn(
    calls: readonly BatchedCall[],
    outcome: BatchOutcome,
    { turn: { group }, sentAtMs }: Sent,
  ): void {
    const { sizes } = this.#parts;
    if (outcome.kind === "refused") sizes.refused(calls.length);
    if (!group || (outcome.kind === "all" && outcome.exchange.kind === "aborted")) return;
    if (isRight(calls, outcome)) sizes.answered(group, calls.length, sentAtMs);
    else sizes.failed(group, sentAtMs);
  }
}

/** Each call has its answer, and there are no others. */
const isRight = (calls: readonly BatchedCall[], outcome: BatchOutcome): boolean =>
  outcome.kind === "each" &&
  outcome.isRight &&
  outcome.exchanges.size === calls.length &&
  calls.every(({ request }) => outcome.exchanges.has(request.id));

const nothing = (): void => undefined;

/** A call that shares a request with others: it may leave at any time, and is settled once. */
class BatchedCall {
  readonly request: NodeRequest;
  readonly signal: Signal;
  onSettled: () => void = nothing;
  #isSettled = false;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #leave = (): void => this.settle({ kind: "aborted" });

  constructor(request: NodeRequest, signal: Signal, resolve: (exchange: Exchange) => void) {
    this.request = request;
    this.signal = signal;
    this.#resolve = resolve;
    signal.addEventListener("abort", this.#leave, { once: true });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The first time counts. */
  settle(exchange: Exchange): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.signal.removeEventListener("abort", this.#leave);
    this.#resolve(exchange);
    this.onSettled();
  }
}
