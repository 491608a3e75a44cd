// The nodes of one network as sources of pending transactions, all of them, while somebody listens.
import type { Clock } from "../lib/clock.ts";
import type { Pool } from "../upstream/pool.ts";
import { PendingSource } from "./pending-source.ts";

export type PendingSourcesParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly clock: Pick<Clock, "sleep" | "after">;
  readonly onHash: (hash: string) => void;
};

type Node = ReturnType<Pool["usable"]>[number];

export class PendingSources {
  /** Another node of the same name may take the place of one. */
  readonly #sources = new Map<Node, PendingSource>();
  #changed: (() => void)[] = [];
  readonly #prefix: "eth" | "cfx";
  readonly #parts: PendingSourcesParts;

  constructor(options: { readonly prefix: "eth" | "cfx" }, parts: PendingSourcesParts) {
    this.#prefix = options.prefix;
    this.#parts = parts;
  }

  /** Until the signal aborts; nodes that become usable later are listened to as well. */
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

  /** "nobody": all nodes were asked, and none has any to tell. */
  get state(): "open" | "nobody" | "unclear" {
    const states = [...this.#sources.values()].map(({ state }) => state);
    if (states.includes("open")) return "open";
    const isAnswered = states.length > 0 && states.every((state) => state === "missing");
    return isAnswered && this.#parts.pool.isSettled() ? "nobody" : "unclear";
  }

  /** Resolves when all is told that the nodes have told so far. */
  async catchUp(): Promise<void> {
    await Promise.all([...this.#sources.values()].map((source) => source.catchUp()));
  }

  /** Resolves when some node's state is another one. */
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
    const source = new PendingSource(
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
