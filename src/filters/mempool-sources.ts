// Listens to all nodes of one network for mempool transactions. A node pushes its transactions, or has a filter of its
// own that this process polls.
import { isHash } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { Pool } from "../upstream/pool.ts";

type MempoolSourcesParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly clock: Pick<Clock, "sleep" | "after">;
  readonly onHash: (hash: string) => void;
};

type Node = ReturnType<Pool["usable"]>[number];

export class MempoolSources {
  /** By the node's object, not its name: another node of the same name may take its place. */
  readonly #sources = new Map<Node, MempoolSource>();
  #changed: (() => void)[] = [];
  readonly #prefix: "eth" | "cfx";
  readonly #parts: MempoolSourcesParts;

  constructor(options: { readonly prefix: "eth" | "cfx" }, parts: MempoolSourcesParts) {
    this.#prefix = options.prefix;
    this.#parts = parts;
  }

  /** Listens until the signal aborts, also to nodes that become usable later. */
  listen(signal: AbortSignal): void {
    const { pool } = this.#parts;
    const look = (): void => {
      for (const node of pool.usable()) this.#listenTo(node, signal);
      this.#tellChange();
    };
    const stopLooking = pool.onChange(look);
    signal.addEventListener("abort", () => {
      stopLooking();
      this.#sources.clear();
    });
    look();
  }

  /** "nobody": all nodes have answered, and none announces pending transactions. */
  get state(): "open" | "nobody" | "unclear" {
    const states = [...this.#sources.values()].map(({ state }) => state);
    if (states.includes("open")) return "open";
    const isAnswered = states.length > 0 && states.every((state) => state === "missing");
    return isAnswered && this.#parts.pool.isSettled() ? "nobody" : "unclear";
  }

  /** Resolves when `onHash` has got all transactions that the nodes know so far. */
  async catchUp(): Promise<void> {
    await Promise.all([...this.#sources.values()].map((source) => source.catchUp()));
  }

  /** Resolves when the state of some node has changed, or after `withinMs` milliseconds. */
  change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(withinMs, resolve);
      this.#changed.push(() => {
        cancel();
        resolve();
      });
    });
  }

  #listenTo(node: Node, signal: AbortSignal): void {
    if (this.#sources.has(node)) return;
    const { clock, onHash } = this.#parts;
    const source = new MempoolSource(
      node,
      { prefix: this.#prefix },
      { clock, onHash, onChange: () => this.#tellChange() },
    );
    this.#sources.set(node, source);
    void source.run(signal).then(() => {
      if (this.#sources.get(node) === source) this.#sources.delete(node);
    });
  }

  #tellChange(): void {
    for (const listener of this.#changed.splice(0)) listener();
  }
}

type MempoolSourceParts = {
  readonly clock: Pick<Clock, "sleep">;
  readonly onHash: (hash: string) => void;
  /** Called when the state of the node has changed. */
  readonly onChange: () => void;
};

/** The result of a node that lacks the method, or the filter. */
const MISSING = Symbol("missing");

const POLLED_EVERY_MS = 500;
const TRIED_AGAIN_AFTER_MS = 1_000;
/** In milliseconds until a node that can neither push nor be polled is asked again: its settings may have changed. */
const MISSING_FOR_MS = 60_000;

class MempoolSource {
  state: "opening" | "open" | "missing" | "away" = "opening";
  #isPolling = false;
  /** Called after the next poll. */
  #waiting: (() => void)[] = [];
  #wake: () => void = () => undefined;
  readonly #node: Node;
  readonly #prefix: string;
  readonly #parts: MempoolSourceParts;

  /** @param options.prefix The prefix of the family's methods. */
  constructor(node: Node, options: { prefix: "eth" | "cfx" }, parts: MempoolSourceParts) {
    this.#prefix = options.prefix;
    this.#node = node;
    this.#parts = parts;
  }

  /** Resolves when the node's transactions so far were passed on: after the next poll; at once where the node pushes. */
  catchUp(): Promise<void> {
    if (!this.#isPolling) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#wake();
    });
  }

  /** Listens until the signal aborts, or the node is removed. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.#watch(signal))) await this.#poll(signal);
      if (signal.aborted || this.#node.isClosed) return;
      const restMs = this.state === "missing" ? MISSING_FOR_MS : TRIED_AGAIN_AFTER_MS;
      await this.#parts.clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  /** Listens until the socket is lost. @returns false when the node pushes nothing. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { onHash } = this.#parts;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    signal.addEventListener("abort", end, { once: true });
    const isOpen = await this.#node.announcements.watchPending({ onHash, onEnd: end }, signal);
    if (isOpen) {
      this.#become("open");
      await ended;
      this.#become("away");
    }
    signal.removeEventListener("abort", end);
    return isOpen;
  }

  /** Polls until the node fails, or lacks the method. When the node forgets the filter, makes another filter. */
  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const id = await this.#ask("newPendingTransactionFilter", "[]", signal);
      if (id === MISSING) return this.#become("missing");
      if (typeof id !== "string") return this.#become("away");
      this.#isPolling = true;
      this.#become("open");
      const ended = await this.#pollFilter(id, signal);
      this.#isPolling = false;
      for (const done of this.#waiting.splice(0)) done();
      if (ended === "failed") return this.#become("away");
    }
  }

  async #pollFilter(id: string, signal: AbortSignal): Promise<"forgotten" | "failed"> {
    const paramsJson = JSON.stringify([id]);
    while (!signal.aborted) {
      await this.#rest(signal);
      const waiting = this.#waiting.splice(0);
      const hashes = await this.#ask("getFilterChanges", paramsJson, signal);
      if (Array.isArray(hashes)) for (const hash of hashes) this.#tell(hash);
      for (const done of waiting) done();
      if (!Array.isArray(hashes)) return hashes === MISSING ? "forgotten" : "failed";
    }
    return "failed";
  }

  /** Resolves when the next poll is due, or `catchUp` waits for a poll. */
  async #rest(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length > 0) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const either = AbortSignal.any([signal, woken.signal]);
    await this.#parts.clock.sleep(POLLED_EVERY_MS, either).catch(() => undefined);
    this.#wake = () => undefined;
  }

  /** The node's result; MISSING when it refuses; undefined after any other failure. */
  async #ask(method: string, paramsJson: string, signal: AbortSignal): Promise<unknown> {
    const reply = await this.#node.ask(`${this.#prefix}_${method}`, paramsJson, signal, {
      purpose: "follow",
    });
    if (reply.kind === "missing" || reply.kind === "refused") return MISSING;
    return reply.kind === "result" ? parsed(reply.json) : undefined;
  }

  #tell(hash: unknown): void {
    if (isHash(hash)) this.#parts.onHash(hash.toLowerCase());
  }

  #become(state: "open" | "missing" | "away"): void {
    this.state = state;
    this.#parts.onChange();
  }
}
