// One node's pending transactions: announced by it, or taken from a filter of its own that is polled.
import { isHash } from "../evm/values.ts";
import type { Clock } from "../lib/clock.ts";
import type { Upstream } from "../upstream/upstream.ts";

export type TellingNode = Pick<Upstream, "name" | "ask" | "watchPending">;

export type SourceParts = {
  readonly clock: Pick<Clock, "sleep">;
  readonly onHash: (hash: string) => void;
  /** The state is another one. */
  readonly onChange: () => void;
};

const POLLED_EVERY_MS = 500;
const TRIED_AGAIN_AFTER_MS = 1_000;
/** A node that has neither is asked again now and then: it may have been restarted otherwise. */
const MISSING_FOR_MS = 60_000;

export class PendingSource {
  #state: "opening" | "open" | "missing" | "away" = "opening";
  readonly #node: TellingNode;
  readonly #parts: SourceParts;

  constructor(node: TellingNode, parts: SourceParts) {
    this.#node = node;
    this.#parts = parts;
  }

  get state(): "opening" | "open" | "missing" | "away" {
    return this.#state;
  }

  /** Listens until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.#watch(signal))) await this.#poll(signal);
      if (signal.aborted) return;
      const restMs = this.#state === "missing" ? MISSING_FOR_MS : TRIED_AGAIN_AFTER_MS;
      await this.#parts.clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  /** Until the socket is lost. @returns false when the node announces nothing. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { onHash } = this.#parts;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    signal.addEventListener("abort", end, { once: true });
    const isOpen = await this.#node.watchPending({ onHash, onEnd: end }, signal);
    if (isOpen) {
      this.#become("open");
      await ended;
      this.#become("away");
    }
    signal.removeEventListener("abort", end);
    return isOpen;
  }

  /** Until the node fails, or has no such filter; one that it forgot is made again. */
  async #poll(signal: AbortSignal): Promise<void> {
    let filterId: string | undefined;
    while (!signal.aborted) {
      if (filterId === undefined) {
        const reply = await this.#ask("eth_newPendingTransactionFilter", "[]", signal);
        if (typeof reply !== "string" || reply === "missing" || reply === "failed")
          return this.#become(reply === "missing" ? "missing" : "away");
        filterId = reply;
        this.#become("open");
      }
      await this.#parts.clock.sleep(POLLED_EVERY_MS, signal).catch(() => undefined);
      const reply = await this.#ask("eth_getFilterChanges", JSON.stringify([filterId]), signal);
      if (reply === "failed") return this.#become("away");
      if (Array.isArray(reply)) for (const hash of reply) this.#tell(hash);
      else filterId = undefined;
    }
  }

  /** What the node answered; "missing" also for its refusal. */
  async #ask(method: string, paramsJson: string, signal: AbortSignal): Promise<unknown> {
    const reply = await this.#node.ask(method, paramsJson, signal, "follow");
    if (reply.kind === "missing" || reply.kind === "refused") return "missing";
    if (reply.kind !== "result") return "failed";
    try {
      return JSON.parse(reply.json.toString());
    } catch {
      return "failed";
    }
  }

  #tell(hash: unknown): void {
    if (isHash(hash)) this.#parts.onHash(hash.toLowerCase());
  }

  #become(state: "open" | "missing" | "away"): void {
    this.#state = state;
    this.#parts.onChange();
  }
}
