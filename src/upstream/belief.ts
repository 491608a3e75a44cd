// Whether a node's result can be so at all: who tells what cannot is told of once, then counted.
import type { Logger } from "pino";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import { atOnce, type Turns, type Work } from "../lib/turns.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Reply } from "./reply.ts";

/** Whether a result cannot be true, whatever the node says; in steps where it may be long. */
export type IsFalse = (json: Buffer, upstream: string) => boolean | Work<boolean>;

export type BeliefParts = {
  readonly log: Pick<Logger, "warn">;
  readonly metrics: Pick<Metrics, "upstreamLied">;
  readonly turns: Pick<Turns, "do">;
  /** Where what waits to be looked through is counted. */
  readonly memory?: Pick<MemoryBudget, "hold" | "release"> | undefined;
  /** Told of who was caught telling what is not so. */
  readonly onLie?: ((upstream: string) => void) | undefined;
};

/** In bytes: what is shorter is looked through at once, in a fifth of a millisecond at most. */
const LONG = 32_768;

const FALSE: Reply = { kind: "failed", reason: "it told what is not so", isReported: true };

type Judging = {
  readonly isFalse?: IsFalse | undefined;
  /** Called when it is. */
  readonly onFalse?: (() => void) | undefined;
  /** On whose behalf it was asked for. */
  readonly asker?: { readonly memory?: MemoryHolder | undefined } | undefined;
};

export class Belief {
  #hasLied = false;
  readonly #options: { readonly network: string; readonly upstream: string };
  readonly #parts: BeliefParts;

  constructor(options: { network: string; upstream: string }, parts: BeliefParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** The reply, or a failure of the node in its place. A promise where that takes long. */
  judged(
    reply: Reply,
    method: string,
    { isFalse, onFalse, asker }: Judging,
  ): Reply | Promise<Reply> {
    if (reply.kind !== "result" || !isFalse) return reply;
    const { json } = reply;
    const found = isFalse(json, this.#options.upstream);
    const judge = (isCaught: boolean): Reply => {
      if (!isCaught) return reply;
      onFalse?.();
      return this.#caught(method);
    };
    if (typeof found !== "boolean" && json.length > LONG)
      return this.#inTurns(found, json.length, asker?.memory).then(judge);
    return judge(typeof found === "boolean" ? found : atOnce(found));
  }

  async #inTurns(
    work: Work<boolean>,
    bytes: number,
    holder: MemoryHolder | undefined,
  ): Promise<boolean> {
    const { memory, turns } = this.#parts;
    memory?.hold("arriving", bytes, holder);
    try {
      return await turns.do(work);
    } finally {
      memory?.release("arriving", bytes, holder);
    }
  }

  #caught(method: string): Reply {
    const { network, upstream } = this.#options;
    const { metrics, log, onLie } = this.#parts;
    metrics.upstreamLied(network, upstream);
    onLie?.(upstream);
    if (!this.#hasLied) log.warn({ upstream, method }, "an upstream told what is not so");
    this.#hasLied = true;
    return FALSE;
  }
}
