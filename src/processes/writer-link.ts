// A server's way to the writer: questions go out through the supervisor, answers and news come in.

import type { Position } from "../chain/block-record.ts";
import type { NotFetched } from "../chain/chain-view.ts";
import type { ChainNews } from "../chain/view-source.ts";

import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { RemoteWriter } from "../network/role.ts";
import type {
  News,
  Result,
  Value,
  WriterAnswer,
  WriterQuestion,
  WriterRequest,
} from "./messages.ts";

export type WriterLinkParts = {
  readonly send: (question: WriterQuestion) => void;
  readonly clock: Pick<Clock, "now" | "after">;
};

/** The writer is away, or takes too long. */
export class WriterAway extends Error {
  override readonly name = "WriterAway";
}

/** Longer than the writer itself waits for nodes, in milliseconds. */
const TIMEOUT_MS = 20_000;
/** The writer tells of each network each second: after so many milliseconds of silence it is not waited for. */
const SILENCE_MS = 5_000;
/** What is to be kept goes to the writer while it is not behind with so many. */
const KEPT_AT_ONCE = 32;

export class WriterLink {
  readonly #waiting = new Map<number, (result: Result) => void>();
  readonly #listeners = new Map<string, Set<(news: ChainNews) => void>>();
  readonly #lastNews = new Map<string, ChainNews>();
  #lastId = 0;
  #keeping = 0;
  #heardAt: number;
  readonly #server: number;
  readonly #parts: WriterLinkParts;

  constructor(options: { readonly server: number }, parts: WriterLinkParts) {
    this.#server = options.server;
    this.#parts = parts;
    this.#heardAt = parts.clock.now();
  }

  hearAnswer({ id, result }: WriterAnswer): void {
    this.#heardAt = this.#parts.clock.now();
    this.#waiting.get(id)?.(result);
  }

  hearNews({ network, news }: News): void {
    this.#heardAt = this.#parts.clock.now();
    this.#lastNews.set(network, news);
    for (const listener of this.#listeners.get(network) ?? []) listener(news);
  }

  /** What it was asked is not answered any more. */
  writerIsAway(): void {
    for (const settle of [...this.#waiting.values()]) settle({ kind: "away" });
  }

  of(network: string): RemoteWriter {
    const ask = (asked: WriterRequest): Promise<Value> => this.#ask(network, asked);
    return {
      look: () => ask({ what: "look" }).then(() => undefined),
      hurry: () => this.#tell(network, { what: "hurry" }),
      fetch: (reference) =>
        ask({ what: "fetch", reference }) as Promise<{ hash: string } | NotFetched>,
      tagged: (tag) => ask({ what: "tagged", tag }) as Promise<Position | undefined>,
      keepTrace: (hash, place, json) =>
        this.#keep(network, { what: "keepTrace", hash, place, json }),
      keepSegment: (place, { json, upstreams }) =>
        this.#keep(network, { what: "keepSegment", place, json, upstreams }),
      distrust: (upstream) => void this.#keep(network, { what: "distrust", upstream }),
      beginPending: () => ask({ what: "beginPending" }) as Promise<number>,
      listenToPending: () => this.#tell(network, { what: "listenToPending" }),
      onNews: (listener) => this.#listen(network, listener),
    };
  }

  /** @throws WriterAway; RpcError when the writer says so. */
  #ask(network: string, ask: WriterRequest): Promise<Value> {
    if (this.#parts.clock.now() - this.#heardAt > SILENCE_MS)
      return Promise.reject(new WriterAway("the writer is silent"));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const cancel = this.#parts.clock.after(TIMEOUT_MS, () => settle({ kind: "away" }));
      const settle = (result: Result): void => {
        cancel();
        this.#waiting.delete(id);
        if (result.kind === "done") resolve(result.value);
        else
          reject(result.kind === "away" ? new WriterAway("the writer is away") : errorOf(result));
      };
      this.#waiting.set(id, settle);
      this.#parts.send({ server: this.#server, id, network, ask });
    });
  }

  /** Nobody waits for what becomes of it. */
  #tell(network: string, ask: WriterRequest): void {
    this.#ask(network, ask).catch(() => undefined);
  }

  /** As far as it goes: what is not kept is asked for again. */
  async #keep(network: string, ask: WriterRequest): Promise<void> {
    if (this.#keeping >= KEPT_AT_ONCE) return;
    this.#keeping += 1;
    await this.#ask(network, ask).catch(() => undefined);
    this.#keeping -= 1;
  }

  #listen(network: string, listener: (news: ChainNews) => void): () => void {
    const listeners = this.#listeners.get(network) ?? new Set();
    this.#listeners.set(network, listeners.add(listener));
    const last = this.#lastNews.get(network);
    if (last) listener(last);
    return () => listeners.delete(listener);
  }
}

const errorOf = ({ code, message, status }: Extract<Result, { kind: "refused" }>): RpcError =>
  new RpcError(code, message, { status });
