// The store of one network, written by the other thread and read here.

import type { Signal } from "../../lib/cancellation.ts";
import type { RunWrite } from "../block-store.ts";
import { BlockTables, type LogSegment, type StoredTracePosition } from "../block-tables.ts";
import type { AskedNode, ChainDialect, Reference } from "../dialect.ts";
import type { Forgotten, UpstreamLogs } from "../kept-segments.ts";
import type { StoreSize } from "../store-room.ts";
import type { StoreWriting, TakenBlock, TakeOutcome, TakeTerms } from "../writing.ts";
import type { HeldStore, OpenedStore } from "./messages.ts";
import type { WriterThread } from "./writer-thread.ts";

export type ThreadStoreParts = {
  readonly thread: WriterThread;
  readonly dialect: Pick<ChainDialect, "kind" | "optional">;
  readonly run: RunWrite;
  /** Is called when another thread has opened the store: it is as the earlier thread left it. */
  readonly onBegunAgain: () => void;
};

export class ThreadStore implements StoreWriting {
  readonly tables: BlockTables;
  readonly below: StoreWriting["below"] = {
    add: (blocks) => {
      const ids = blocks.map((block) => this.#idOf(block));
      return this.#write("addBelow", ids);
    },
    finish: () => this.#write("finishBelow"),
  };
  readonly #store: number;
  #size: StoreSize;
  /** The numbers by which the other thread names the blocks it holds. */
  readonly #ids = new WeakMap<TakenBlock, number>();
  readonly #unwanted: FinalizationRegistry<number>;
  readonly #opened: { options: OpenedStore; readonly onBegunAgain: () => void };
  readonly #parts: ThreadStoreParts;

  /** @throws When the folder cannot be read or written. */
  constructor({ path, ...size }: StoreSize & { readonly path: string }, parts: ThreadStoreParts) {
    const { thread, dialect, onBegunAgain } = parts;
    this.#parts = parts;
    this.#size = size;
    // A process opens a file once for all its threads, in the way of the first one.
    this.tables = new BlockTables({ path });
    this.#unwanted = new FinalizationRegistry((id) => thread.forget(id));
    this.#opened = { options: { path, ...size, dialect: dialect.kind }, onBegunAgain };
    this.#store = thread.open(this.#opened);
  }

  readonly take = async (
    reference: Reference,
    node: AskedNode,
    { limits, rules, signal }: TakeTerms & { readonly signal: Signal },
  ): Promise<TakeOutcome> => {
    const { thread, dialect } = this.#parts;
    const missing = dialect.optional.filter((method) => node.isMissing(method));
    const call = { kind: "take", reference, node: node.name, missing, limits, rules } as const;
    const asking = { ask: node.ask.bind(node), signal };
    const { id, result } = thread.take(this.#store, call, asking);
    try {
      const taken = (await result) as TakeOutcome;
      if (taken.kind === "taken") {
        this.#ids.set(taken.block, id);
        this.#unwanted.register(taken.block, id);
      }
      return taken;
    } catch (error) {
      return { kind: "failed", reason: (error as Error).message };
    }
  };

  get size(): StoreSize {
    return this.#size;
  }

  resize(size: StoreSize): void {
    const { windowBlocks, bytes } = size;
    this.#size = { windowBlocks, bytes };
    this.#opened.options = { ...this.#opened.options, ...this.#size };
    void this.#write("resize", this.#size).catch(() => undefined); // another thread opens the store with this size
  }

  prepareFor(chainId: number): Promise<{ wasCleared: boolean }> {
    return this.#write("prepareFor", chainId);
  }

  setNote(name: string, text: string): Promise<void> {
    return this.#write("setNote", name, text);
  }

  clear(): Promise<void> {
    return this.#write("clear");
  }

  async close(): Promise<void> {
    await this.#call("close").catch(() => undefined); // a thread that has ended has closed it
    this.#parts.thread.forgetStore(this.#store);
    await this.tables.close();
  }

  /** Without `run`, which calls it to try whether the store can be written. */
  probe(): Promise<void> {
    return this.#call("probe");
  }

  apply({ removed, added }: { removed: number; added: readonly TakenBlock[] }): Promise<void> {
    return this.#write("apply", { removed, added: added.map((block) => this.#idOf(block)) });
  }

  startAt(block: TakenBlock): Promise<void> {
    return this.#write("startAt", this.#idOf(block));
  }

  keep(block: TakenBlock, isCanonical: boolean): Promise<void> {
    return this.#write("keep", this.#idOf(block), isCanonical);
  }

  keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void> {
    return this.#write("keepTrace", hash, position, Buffer.from(Uint8Array.from(json).buffer));
  }

  keepSegment(segment: LogSegment, { json, upstreams }: UpstreamLogs): Promise<void> {
    const copied = Buffer.from(Uint8Array.from(json).buffer);
    return this.#write("keepSegment", segment, { json: copied, upstreams });
  }

  forgetSegments(forgotten: Forgotten): Promise<number> {
    return this.#write("forgetSegments", forgotten);
  }

  #idOf(block: TakenBlock): number {
    return this.#ids.get(block) ?? -1;
  }

  #write<Method extends keyof HeldStore>(
    method: Method,
    ...params: Parameters<HeldStore[Method]>
  ): Promise<Awaited<ReturnType<HeldStore[Method]>>> {
    return this.#parts.run(() => this.#call(method, ...params));
  }

  async #call<Method extends keyof HeldStore>(
    method: Method,
    ...params: Parameters<HeldStore[Method]>
  ): Promise<Awaited<ReturnType<HeldStore[Method]>>> {
    const { thread } = this.#parts;
    const value = await thread.request(this.#store, { kind: "write", method, params });
    this.tables.refresh(); // from here on reads see what was written
    return value as Awaited<ReturnType<HeldStore[Method]>>;
  }
}
