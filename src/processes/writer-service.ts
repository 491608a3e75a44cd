// The writer's side: it tells servers what happens to the chains, and does what they ask for.
import type { Logger } from "pino";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { KeptNetwork, NetworkWriter } from "../network/role.ts";
import type {
  News,
  Result,
  Value,
  WriterAnswer,
  WriterQuestion,
  WriterRequest,
} from "./messages.ts";

export type WriterServiceParts = {
  readonly tell: (news: News) => void;
  readonly answer: (answer: WriterAnswer) => void;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "error">;
};

/** Where nodes stand changes between two chain updates, too. */
const TOLD_EVERY_MS = 1_000;

export class WriterService {
  readonly #served = new Map<string, KeptNetwork>();
  readonly #parts: WriterServiceParts;

  constructor(parts: WriterServiceParts) {
    this.#parts = parts;
  }

  /** From now on servers are told of this network, and may ask. @returns How to stop. */
  serve(network: string, kept: KeptNetwork): () => void {
    this.#served.set(network, kept);
    let cancel = (): void => undefined;
    const tell = (): void => this.#parts.tell({ network, news: kept.news() });
    const tellAgain = (): void => {
      tell();
      cancel = this.#parts.clock.after(TOLD_EVERY_MS, tellAgain);
    };
    tellAgain();
    const stop = kept.onUpdate(tell);
    return () => {
      stop();
      cancel();
      // Another one of the same name may have taken its place.
      if (this.#served.get(network) === kept) this.#served.delete(network);
    };
  }

  async hear({ server, id, network, ask }: WriterQuestion): Promise<void> {
    this.#parts.answer({ server, id, result: await this.#resultOf(network, ask) });
  }

  async #resultOf(network: string, ask: WriterRequest): Promise<Result> {
    const kept = this.#served.get(network);
    if (!kept) return { kind: "away" };
    try {
      return { kind: "done", value: await doneBy(kept.writer, ask) };
    } catch (error) {
      if (error instanceof RpcError) {
        const { code, message, status } = error;
        return { kind: "refused", code, message, status };
      }
      this.#parts.log.error({ err: error, asked: ask.what, network }, "a server's question failed");
      return { kind: "away" };
    }
  }
}

async function doneBy(writer: NetworkWriter, ask: WriterRequest): Promise<Value> {
  switch (ask.what) {
    case "look":
      return (await writer.look()) as undefined;
    case "hurry":
      return writer.hurry() as undefined;
    case "fetch":
      return writer.fetch(ask.reference);
    case "tagged":
      return writer.tagged(ask.tag);
    case "keepTrace":
      return (await writer.keepTrace(ask.hash, ask.place, Buffer.from(ask.json))) as undefined;
    case "keepSegment":
      return (await writer.keepSegment(ask.place, {
        json: Buffer.from(ask.json),
        upstreams: ask.upstreams,
      })) as undefined;
    case "distrust":
      return writer.distrust(ask.upstream) as undefined;
    case "beginPending":
      return writer.beginPending();
    case "listenToPending":
      return writer.listenToPending() as undefined;
  }
}
