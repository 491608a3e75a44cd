// Calls of one moment as one HTTP request, for nodes that count requests. What a node refuses is
// learned, and its calls are sent again, each by itself.
import type { Clock } from "../../lib/clock.ts";
import type { MemoryHolder } from "../../lib/memory-budget.ts";
import { type BatchOutcome, readBatchAnswer } from "./batch-answer.ts";
import type { BodyReader, Connection, Exchange, NodeRequest } from "./connection.ts";

type BatchingOptions = {
  /** The most calls in one request. */
  readonly batch: number;
  /** Told the most that the node takes, when that is less than before; 1: it takes no batches. */
  readonly onLearned?: ((size: number) => void) | undefined;
};

type BatchingParts = {
  readonly connection: Pick<Connection, "send" | "close">;
  readonly clock: Pick<Clock, "yield">;
};

/** Made once: an abort without a reason makes an exception with a stack. */
const NOBODY_WAITS = new Error("all callers have left");
/** A whole that has no answer to one of its calls. */
const MALFORMED: Exchange = { kind: "unreachable", reason: "malformed answer" };

export class BatchingConnection implements Connection {
  /** Calls of this turn of the event loop, by id: fewer than make a batch full. */
  #gathered = new Map<number, BatchedCall>();
  #isTurnAwaited = false;
  #size: number;
  readonly #options: BatchingOptions;
  readonly #parts: BatchingParts;

  constructor(options: BatchingOptions, parts: BatchingParts) {
    this.#size = options.batch;
    this.#options = options;
    this.#parts = parts;
  }

  /** The most calls that go in one request now. */
  get batchSize(): number {
    return this.#size;
  }

  send(request: NodeRequest, signal: AbortSignal, reader?: BodyReader): Promise<Exchange> {
    const isAlone = this.#size < 2 || reader || signal.aborted || this.#gathered.has(request.id);
    if (isAlone || !request.isBatchable)
      return this.#parts.connection.send(request, signal, reader);
    return new Promise((resolve) => this.#gather(new BatchedCall(request, signal, resolve)));
  }

  close(): Promise<void> {
    return this.#parts.connection.close();
  }

  #gather(call: BatchedCall): void {
    this.#gathered.set(call.request.id, call);
    if (this.#gathered.size >= this.#size) this.#sendGathered();
    else if (!this.#isTurnAwaited) void this.#awaitTurn();
  }

  async #awaitTurn(): Promise<void> {
    this.#isTurnAwaited = true;
    await this.#parts.clock.yield();
    this.#isTurnAwaited = false;
    this.#sendGathered();
  }

  #sendGathered(): void {
    const calls = [...this.#gathered.values()].filter(({ isSettled }) => !isSettled);
    this.#gathered = new Map();
    // What the node takes may have become less since they were gathered.
    for (let from = 0; from < calls.length; from += this.#size) {
      const together = calls.slice(from, from + this.#size);
      if (together.length > 1) void this.#sendTogether(together);
      else this.#sendEach(together);
    }
  }

  #sendEach(calls: readonly BatchedCall[]): void {
    for (const call of calls) {
      if (call.isSettled) continue;
      const sent = this.#parts.connection.send(call.request, call.signal);
      void sent.then((exchange) => call.settle(exchange));
    }
  }

  async #sendTogether(calls: readonly BatchedCall[]): Promise<void> {
    const controller = new AbortController();
    let waiting = calls.length;
    const onLeave = (): void => {
      waiting -= 1;
      if (waiting === 0) controller.abort(NOBODY_WAITS);
    };
    for (const call of calls) call.onLeave = onLeave;
    const holder = onlyHolder(calls);
    const json = `[${calls.map(({ request }) => request.json).join(",")}]`;
    const exchange = await this.#parts.connection.send(
      { id: 0, json, isForCaller: calls.every(({ request }) => request.isForCaller), holder },
      controller.signal,
    );
    // What waits for one of their keys is no reason to refuse the others.
    if (exchange.kind === "crowded" && holder === undefined) this.#sendEach(calls);
    else this.#settle(calls, readBatchAnswer(exchange));
  }

  #settle(calls: readonly BatchedCall[], outcome: BatchOutcome): void {
    if (outcome.kind === "refused") this.#learn(calls.length);
    if (outcome.kind === "refused" || outcome.kind === "too large") this.#sendEach(calls);
    else if (outcome.kind === "all") for (const call of calls) call.settle(outcome.exchange);
    else {
      const { exchanges, again } = outcome;
      this.#sendEach(calls.filter(({ request }) => again.has(request.id)));
      for (const call of calls)
        if (!again.has(call.request.id)) call.settle(exchanges.get(call.request.id) ?? MALFORMED);
    }
  }

  /** Half of what was refused: several refusals of one moment are one lesson. */
  #learn(refused: number): void {
    const size = Math.floor(refused / 2);
    if (size >= this.#size) return;
    this.#size = size;
    this.#options.onLearned?.(size);
  }
}

/** undefined where they are of several keys, or of none. */
function onlyHolder([first, ...rest]: readonly BatchedCall[]): MemoryHolder | undefined {
  const holder = first?.request.holder;
  return rest.every(({ request }) => request.holder === holder) ? holder : undefined;
}

/** A call that shares a request with others: it may leave at any time, and is settled once. */
class BatchedCall {
  readonly request: NodeRequest;
  readonly signal: AbortSignal;
  /** Called when the caller left before there was an answer. */
  onLeave: () => void = () => undefined;
  #isSettled = false;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #leave = (): void => {
    this.settle({ kind: "aborted" });
    this.onLeave();
  };

  constructor(request: NodeRequest, signal: AbortSignal, resolve: (exchange: Exchange) => void) {
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
  }
}
