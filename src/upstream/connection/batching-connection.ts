// Sends the calls of one turn at a node as one HTTP request. `BatchSizes` learns from the outcome how many may go
// together. Calls that failed only because they were one batch are sent again, each by itself.

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

/** Shared by all batches: an abort without a reason would create an exception with a stack each time. */
const NOBODY_WAITS = new Error("all callers have left");
/** The longest answer to a batch of learned size, in bytes; after a longer one each call is sent by itself. */
const LONGEST_TOGETHER = 1 << 20;

/** A batch in flight. */
type Sent = { readonly turn: SharedTurn; readonly sentAtMs: number };

export class BatchingConnection implements Connection {
  /** The calls that came in this turn of the event loop, by their turn at the node. */
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

  /** The batch as one request. All its calls are for one key, or all for none. */
  #joined(calls: readonly BatchedCall[]): NodeRequest {
    const { isForCaller, holder } = (calls[0] as BatchedCall).request;
    const maxBytes = this.#parts.sizes.isConfigured ? undefined : LONGEST_TOGETHER;
    let json = "";
    for (const { request } of calls) json += json === "" ? `[${request.json}` : `,${request.json}`;
    json += "]";
    // A request can stand in one trace only.
    const headers = calls.find(({ request }) => request.headers)?.request.headers;
    const isRepeatable = calls.every(({ request }) => request.isRepeatable);
    return { id: 0, json, isForCaller, isRepeatable, holder, maxBytes, headers };
  }

  /** Sends each call alone when the batch is late: a slow call may delay the others. @returns A function to stop it. */
  #watch(calls: readonly BatchedCall[], { turn: { group }, sentAtMs }: Sent): () => void {
    const { clock, sizes } = this.#parts;
    const lateMs = group ? sizes.lateMs(group) : Number.POSITIVE_INFINITY;
    if (!group || lateMs === Number.POSITIVE_INFINITY) return nothing;
    const giveUp = (): void => {
      if (calls.some(({ isSettled }) => !isSettled) && sizes.late(group, sentAtMs))
        this.#sendEach(calls);
    };
    // The answer may have arrived, and this process may only be late to read it.
    return clock.after(lateMs, () => void clock.yield().then(giveUp));
  }

  #settle(calls: readonly BatchedCall[], outcome: BatchOutcome, sent: Sent): void {
    this.#learn(calls, outcome, sent);
    if (outcome.kind === "each") {
      const { exchanges } = outcome;
      const answered = calls.filter(({ request }) => exchanges.has(request.id));
      // A node that answers an id that was not asked mixes up the ids: no answer of the batch is safe.
      if (answered.length === exchanges.size)
        for (const call of answered) call.settle(exchanges.get(call.request.id) as Exchange);
      this.#sendEach(calls); // those without an answer
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

/** Whether each call has its answer, and the node sent no others. */
const isRight = (calls: readonly BatchedCall[], outcome: BatchOutcome): boolean =>
  outcome.kind === "each" &&
  outcome.isRight &&
  outcome.exchanges.size === calls.length &&
  calls.every(({ request }) => outcome.exchanges.has(request.id));

const nothing = (): void => undefined;

/** A call that shares a request with others: its caller may leave at any time, and the call settles once. */
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

  /** Only the first call has an effect. */
  settle(exchange: Exchange): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.signal.removeEventListener("abort", this.#leave);
    this.#resolve(exchange);
    this.onSettled();
  }
}
