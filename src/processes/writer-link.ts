// Both ends of the link between the writer and the servers. A server calls the methods of `NetworkWriter`; the writer
// answers, and sends the news of its chains to all servers. The messages pass through the supervisor.
// docs/decisions/0039-the-link-to-the-writer-uses-no-library.md says why the link uses no library.
import type { Logger } from "pino";
import type { ChainNews } from "../chain/chain-reader.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { PendingReplies, PeriodicTimer } from "../lib/waiting.ts";
import type { KeptNetwork, NetworkWriter, RemoteWriter } from "../network/role.ts";

type Asked = keyof NetworkWriter;
type CallOf<Name extends Asked> = readonly [method: Name, ...Parameters<NetworkWriter[Name]>];
type Done<Name extends Asked> = Awaited<ReturnType<NetworkWriter[Name]>>;

export type WriterQuestion = {
  /** The number of the server, and the number of its question. */
  readonly server: number;
  readonly id: number;
  readonly network: string;
  readonly call: readonly [method: Asked, ...params: readonly unknown[]];
};

/** The news of one network. */
export type News = { readonly network: string; readonly news: ChainNews };

/** A message to one server, or to all servers. */
export type WriterMessage =
  | {
      readonly kind: "answer";
      readonly server: number;
      readonly id: number;
      readonly result: WriterResult;
    }
  | ({ readonly kind: "news" } & News)
  /** From the supervisor: the writer is gone, and will not answer the open questions. */
  | { readonly kind: "writer away" };

type WriterResult =
  | { readonly kind: "done"; readonly value: unknown }
  /** The writer's own error, in the form that callers get. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly message: string;
      readonly status: number;
    }
  /** No writer runs now, or the writer does not serve this network. */
  | { readonly kind: "away" };

const AWAY: WriterResult = { kind: "away" };

/** The error of a question when the writer is away, or takes too long. */
export class WriterAway extends Error {
  override readonly name = "WriterAway";
}

/** The timeout of a question, in milliseconds: longer than the writer itself waits for nodes. */
const TIMEOUT_MS = 20_000;
/** The writer sends news of each network each second: after this silence, in milliseconds, questions fail at once. */
const SILENCE_MS = 5_000;
/** The most things to keep that may be under way to the writer; further ones are dropped. */
const KEPT_AT_ONCE = 32;

type WriterLinkParts = {
  readonly send: (question: WriterQuestion) => void;
  readonly clock: Pick<Clock, "now" | "after">;
};

/** A server's end of the link. */
export class WriterLink {
  readonly #replies = new PendingReplies<WriterResult>();
  readonly #listeners = new Map<string, Set<(news: ChainNews) => void>>();
  readonly #lastNews = new Map<string, ChainNews>();
  #keeping = 0;
  #receivedAt: number;
  readonly #server: number;
  readonly #parts: WriterLinkParts;

  constructor(options: { readonly server: number }, parts: WriterLinkParts) {
    this.#server = options.server;
    this.#parts = parts;
    this.#receivedAt = parts.clock.now();
  }

  receive(message: WriterMessage): void {
    if (message.kind === "writer away") this.#replies.settleAll(AWAY);
    else {
      this.#receivedAt = this.#parts.clock.now();
      if (message.kind === "answer") this.#replies.settle(message.id, message.result);
      else this.#receiveNews(message);
    }
  }

  #receiveNews({ network, news }: News): void {
    this.#lastNews.set(network, news);
    for (const listener of this.#listeners.get(network) ?? []) listener(news);
  }

  of(network: string): RemoteWriter {
    const ask = <Name extends Asked>(...call: CallOf<Name>): Promise<Done<Name>> =>
      this.#ask(network, call) as Promise<Done<Name>>;
    /** As `ask`, without a wait for the outcome. */
    const tell = <Name extends Asked>(...call: CallOf<Name>): void =>
      void this.#ask(network, call).catch(() => undefined);
    const keep = <Name extends Asked>(...call: CallOf<Name>): Promise<void> =>
      this.#keep(network, call);
    return {
      look: () => ask("look"),
      hurry: () => tell("hurry"),
      fetch: (...wanted) => ask("fetch", ...wanted),
      tagged: (tag) => ask("tagged", tag),
      keepTrace: (...trace) => keep("keepTrace", ...trace),
      keepSegment: (...segment) => keep("keepSegment", ...segment),
      distrust: (upstream) => void keep("distrust", upstream),
      beginPending: () => ask("beginPending"),
      listenToPending: () => tell("listenToPending"),
      onNews: (listener) => this.#listen(network, listener),
    };
  }

  /** @throws WriterAway; RpcError when the writer refuses. */
  async #ask(network: string, call: WriterQuestion["call"]): Promise<unknown> {
    const { clock, send } = this.#parts;
    if (clock.now() - this.#receivedAt > SILENCE_MS) throw new WriterAway("the writer is silent");
    const { id, reply } = this.#replies.begin({ ms: TIMEOUT_MS, reply: AWAY, clock });
    send({ server: this.#server, id, network, call });
    const result = await reply;
    if (result.kind === "done") return result.value;
    if (result.kind === "away") throw new WriterAway("the writer is away");
    throw new RpcError(result.code, result.message, { status: result.status });
  }

  /** Best effort: if the writer does not keep a thing, a server asks a node for it again. */
  async #keep(network: string, call: WriterQuestion["call"]): Promise<void> {
    if (this.#keeping >= KEPT_AT_ONCE) return;
    this.#keeping += 1;
    await this.#ask(network, call).catch(() => undefined);
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

/** The pause between news, in ms: news are sent between two chain updates as well, since the nodes' heads change. */
const TOLD_EVERY_MS = 1_000;

type WriterServiceParts = {
  readonly send: (message: Exclude<WriterMessage, { kind: "writer away" }>) => void;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "error">;
};

/** The writer's end of the link. */
export class WriterService {
  readonly #served = new Map<string, KeptNetwork>();
  readonly #parts: WriterServiceParts;

  constructor(parts: WriterServiceParts) {
    this.#parts = parts;
  }

  /** Sends servers the news of this network, and answers their questions. @returns A function that stops both. */
  serve(network: string, kept: KeptNetwork): () => void {
    this.#served.set(network, kept);
    const { clock, send } = this.#parts;
    const tell = (): void => send({ kind: "news", network, news: kept.news() });
    const timer = new PeriodicTimer({ clock, everyMs: () => TOLD_EVERY_MS, round: tell });
    tell();
    timer.begin();
    const stop = kept.onUpdate(tell);
    return () => {
      stop();
      timer.stop();
      // Another network of the same name may have taken the place of this one.
      if (this.#served.get(network) === kept) this.#served.delete(network);
    };
  }

  async receive({ server, id, network, call }: WriterQuestion): Promise<void> {
    const result = await this.#resultOf(network, call);
    this.#parts.send({ kind: "answer", server, id, result });
  }

  async #resultOf(
    network: string,
    [method, ...params]: WriterQuestion["call"],
  ): Promise<WriterResult> {
    const writer = this.#served.get(network)?.writer;
    if (!writer) return { kind: "away" };
    try {
      const act = writer[method] as (...all: readonly unknown[]) => unknown;
      return { kind: "done", value: await act(...params) };
    } catch (error) {
      if (error instanceof RpcError) {
        const { code, message, status } = error;
        return { kind: "refused", code, message, status };
      }
      this.#parts.log.error(
        { err: error, asked: method, network },
        "a server's request to the writer failed",
      );
      return { kind: "away" };
    }
  }
}
