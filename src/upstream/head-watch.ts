// Where the heads of nodes are whose chain nobody follows: asked twice a block, so that who lags is known.
import type { Clock } from "../lib/clock.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { Upstream } from "./upstream.ts";

type WatchedNode = Pick<Upstream, "ask">;

export type HeadWatchParts = {
  readonly pool: {
    /** Those that may be asked now. */
    usable(): readonly WatchedNode[];
    /** Between two blocks, in milliseconds; undefined while that is not known. */
    readonly blockMs: number | undefined;
  };
  readonly clock: Pick<Clock, "sleep">;
};

const SHORTEST_MS = 500;
const LONGEST_MS = 6_000;

const QUESTIONS = {
  evm: ["eth_blockNumber", "[]"],
  conflux: ["cfx_epochNumber", '["latest_state"]'],
} as const;

export class HeadWatch {
  /** Those that were asked and have not answered. */
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
      // With one node there is nothing to compare.
      if (nodes.length > 1) for (const node of nodes) void this.#ask(node);
      const halfBlockMs = (pool.blockMs ?? 0) / 2;
      const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, halfBlockMs));
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  async #ask(node: WatchedNode): Promise<void> {
    if (this.#asked.has(node)) return;
    this.#asked.add(node);
    const [method, paramsJson] = QUESTIONS[this.#family];
    // It takes notice of its own answer.
    await node.ask(method, paramsJson, this.#closing.signal, { purpose: "follow" });
    this.#asked.delete(node);
  }
}
