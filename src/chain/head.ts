// The head of a network as its nodes tell it, and the one view of it that a batch gets.

import { toQuantity } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { Pool } from "../upstream/pool.ts";

/** What methods see of the head; see HeadView in methods/method.ts. */
type View = {
  latest(): Promise<number>;
  atLeast(number: number): Promise<number>;
  pin<Reference>(reference: Reference): Promise<Reference | string> | Reference;
};

export class Head {
  /** The highest number seen; -1 before the first. Only a hint: a reorganisation may lower the head. */
  #known = -1;
  readonly #family: Family;
  readonly #upstream: Pick<Pool, "call">;

  constructor(options: { family: Family }, parts: { upstream: Pick<Pool, "call"> }) {
    this.#family = options.family;
    this.#upstream = parts.upstream;
  }

  /** For a lone call: `latest` stays what it is, and the node resolves it. */
  loneView(signal: () => AbortSignal): View {
    return {
      latest: () => this.#ask(signal()),
      atLeast: (number) => this.#atLeast(number, signal()),
      pin: (reference) => reference,
    };
  }

  /** For a batch: `latest` is asked once and means one and the same block for all members. */
  batchView(signal: () => AbortSignal): View {
    let head: Promise<number> | undefined;
    const latest = (): Promise<number> => {
      const asked = head ?? this.#ask(signal());
      head = asked;
      asked.catch(() => {
        if (head === asked) head = undefined; // one that failed or was aborted is not kept for the others
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

  /** The newest block's number and time; for epochs, that of the newest executed one. */
  async read(signal: AbortSignal): Promise<{ number: number; timestampMs: number }> {
    const [method, params] =
      this.#family === "evm"
        ? ["eth_getBlockByNumber", '["latest",false]']
        : ["cfx_getBlockByEpochNumber", '["latest_state",false]'];
    const json = await this.#upstream.call(method, params, signal);
    const block = parsed(json) as Record<string, string> | null | undefined;
    const number = numberIn(block?.["epochNumber"] ?? block?.["number"]);
    return { number, timestampMs: numberIn(block?.["timestamp"]) * 1000 };
  }

  async #atLeast(number: number, signal: AbortSignal): Promise<number> {
    return this.#known >= number ? this.#known : this.#ask(signal);
  }

  async #ask(signal: AbortSignal): Promise<number> {
    const [method, params] =
      this.#family === "evm" ? ["eth_blockNumber", "[]"] : ["cfx_epochNumber", '["latest_state"]'];
    const json = await this.#upstream.call(method, params, signal);
    const number = numberIn(parsed(json));
    this.#known = Math.max(this.#known, number);
    return number;
  }
}

/** A node whose head is no number cannot be followed. */
function numberIn(value: unknown): number {
  const number = typeof value === "string" && /^0x[0-9a-f]+$/i.test(value) ? Number(value) : -1;
  if (!Number.isSafeInteger(number) || number < 0) throw errors.upstreamsFailed();
  return number;
}
