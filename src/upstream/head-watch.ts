// Where the heads of nodes are whose chain nobody follows: asked now and then, so that who lags is known.
import type { Clock } from "../lib/clock.ts";
import type { Upstream } from "./upstream.ts";

type WatchedNode = Pick<Upstream, "ask">;

const EVERY_MS = 2_000;

const QUESTIONS = {
  evm: ["eth_blockNumber", "[]"],
  conflux: ["cfx_epochNumber", '["latest_state"]'],
} as const;

export class HeadWatch {
  /** Those that were asked and have not answered. */
  readonly #asked = new Set<WatchedNode>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  readonly #family: "evm" | "conflux";
  readonly #nodes: () => readonly WatchedNode[];
  readonly #clock: Pick<Clock, "sleep">;

  /** @param parts.nodes Those that may be asked now. */
  constructor(
    options: { family: "evm" | "conflux" },
    parts: { nodes: () => readonly WatchedNode[]; clock: Pick<Clock, "sleep"> },
  ) {
    this.#family = options.family;
    this.#nodes = parts.nodes;
    this.#clock = parts.clock;
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
    while (!signal.aborted) {
      const nodes = this.#nodes();
      // With one node there is nothing to compare.
      if (nodes.length > 1) for (const node of nodes) void this.#ask(node);
      await this.#clock.sleep(EVERY_MS, signal).catch(() => undefined);
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
