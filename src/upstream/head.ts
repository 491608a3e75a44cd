// The head of a network as its nodes tell it, and the one view of it that a batch gets. Where the gateway does not
// follow the chain, a watch keeps the heads of the nodes known.

import { numberIn, toQuantity } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { type Family, GATEWAY_CALLS } from "../namespaces/known-method.ts";
import type { Pool } from "./pool.ts";
import type { Reply } from "./reply.ts";
import type { Upstream } from "./upstream.ts";

/** The view of the head that methods get: `HeadView` in methods/method.ts. */
type View = {
  latest(): Promise<number>;
  atLeast(number: number): Promise<number>;
  pin<Reference>(reference: Reference): Promise<Reference | string> | Reference;
};

export class Head {
  /** The highest head seen; -1 before the first. Only a hint: a reorg may lower the head. */
  #known = -1;
  readonly #family: Family;
  readonly #calls: (typeof GATEWAY_CALLS)["evm"];
  readonly #upstream: Pick<Pool, "call">;

  constructor(options: { family: Family }, parts: { upstream: Pick<Pool, "call"> }) {
    this.#family = options.family;
    this.#calls = GATEWAY_CALLS[options.family];
    this.#upstream = parts.upstream;
  }

  /** The view for a call by itself: `latest` stays as it is, and the node resolves it. */
  loneView(signal: () => Signal): View {
    return {
      latest: () => this.#ask(signal()),
      atLeast: (number) => this.#atLeast(number, signal()),
      pin: (reference) => reference,
    };
  }

  /** The view for a batch: `latest` is resolved once, so that it means the same block for all members. */
  batchView(signal: () => Signal): View {
    let head: Promise<number> | undefined;
    const latest = (): Promise<number> => {
      const asked = head ?? this.#ask(signal());
      head = asked;
      asked.catch(() => {
        if (head === asked) head = undefined; // after a failure or an abort the next member asks again
      });
      return asked;
    };
    return {
      latest,
      atLeast: latest,
      pin: (reference) =>
        this.#family === "evm" && reference === "latest" ? latest().then(toQuantity) : reference,
    };
  }

  /** Asks for the number and time of the newest block; on epoch networks of the newest executed epoch. */
  async read(signal: Signal): Promise<{ number: number; timestampMs: number }> {
    const block = newestBlockIn(await this.#upstream.call(...this.#calls.newestBlock, signal));
    if (!block) throw errors.upstreamsFailed();
    return { number: block.number, timestampMs: block.seconds * 1000 };
  }

  async #atLeast(number: number, signal: Signal): Promise<number> {
    return this.#known >= number ? this.#known : this.#ask(signal);
  }

  async #ask(signal: Signal): Promise<number> {
    const [method, paramsJson] = this.#calls.head;
    // A node that lags answers, too, while the others cannot: it does not make the head go back by itself.
    const isUncertain = (reply: Reply): boolean =>
      reply.kind === "result" && (numberIn(parsed(reply.json)) ?? this.#known) < this.#known;
    const crossCheck = { name: "heads", isUncertain };
    const json = await this.#upstream.call(method, paramsJson, signal, { crossCheck });
    const number = numberIn(parsed(json));
    // A head that is no number is of no use.
    if (number === undefined) throw errors.upstreamsFailed();
    this.#known = Math.max(this.#known, number);
    return number;
  }
}

/** The number of a block or epoch, and its time in seconds since 1970; undefined when the JSON lacks one of them. */
export function newestBlockIn(json: Buffer): { number: number; seconds: number } | undefined {
  const block = parsed(json) as Readonly<Record<string, unknown>> | null | undefined;
  const number = numberIn(block?.["epochNumber"] ?? block?.["number"]);
  const seconds = numberIn(block?.["timestamp"]);
  return number === undefined || seconds === undefined ? undefined : { number, seconds };
}

// Watches the heads of nodes whose chain the gateway does not follow: asks each node twice a block, to see which lag.

type WatchedNode = Pick<Upstream, "ask">;

type HeadWatchParts = {
  readonly pool: {
    /** The nodes that may be asked now. */
    usable(): readonly WatchedNode[];
    /** The time between two blocks, in milliseconds; undefined while it is not known. */
    readonly blockMs: number | undefined;
  };
  readonly clock: Pick<Clock, "sleep">;
};

const SHORTEST_MS = 500;
const LONGEST_MS = 6_000;

export class HeadWatch {
  /** The nodes that have not answered the last question. */
  readonly #asked = new Set<WatchedNode>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  readonly #family: Family;
  readonly #parts: HeadWatchParts;

  constructor(options: { family: Family }, parts: HeadWatchParts) {
    this.#family = options.family;
    this.#parts = parts;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const { pool, clock } = this.#parts;
    while (!signal.aborted) {
      const nodes = pool.usable();
      // A single node cannot lag behind another one.
      if (nodes.length > 1) for (const node of nodes) void this.#ask(node);
      const halfBlockMs = (pool.blockMs ?? 0) / 2;
      const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, halfBlockMs));
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  async #ask(node: WatchedNode): Promise<void> {
    if (this.#asked.has(node)) return;
    this.#asked.add(node);
    const [method, paramsJson] = GATEWAY_CALLS[this.#family].head;
    // `Upstream.ask` reads the head from the answer.
    await node.ask(method, paramsJson, this.#closing.signal, { purpose: "follow" });
    this.#asked.delete(node);
  }
}
