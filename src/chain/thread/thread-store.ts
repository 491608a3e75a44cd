// The store of one network that the writer thread writes and this thread reads.

import type { Signal } from "../../lib/cancellation.ts";
import type { SentRecord } from "../block-record.ts";
import type { RunWrite } from "../block-store.ts";
import { BlockTables, type LogSegment, type StoredTracePosition } from "../block-tables.ts";
import type { AskedUpstream, ChainDialect, Reference } from "../dialect.ts";
import type { UpstreamLogs } from "../kept-segments.ts";
import type { StoreSize } from "../store-eviction.ts";
import type { IngestedBlock, IngestOutcome, IngestTerms, StoreWriting } from "../writing.ts";
import type { HeldBlock, HeldStore, OpenedStore } from "./messages.ts";
import type { WriterThread } from "./writer-thread.ts";

export type ThreadStoreParts = {
  readonly thread: WriterThread;
  readonly dialect: Pick<ChainDialect, "kind" | "optional">;
  readonly run: RunWrite;
  /** A callback: a new writer thread has opened the store, as the earlier thread left it. */
  readonly onBegunAgain: () => void;
};

export class ThreadStore implements StoreWriting {
  readonly tables: BlockTables;
  readonly below: StoreWriting["below"] = {
    add: (blocks) =>
      this.#write(
        "addBelow",
        blocks.map((block) => this.#given(block)),
      ),
    finish: () => this.#write("finishBelow"),
  };
  readonly #store: number;
  #size: StoreSize;
  readonly #held = new WeakMap<IngestedBlock, HeldBlock>();
  /** Drops blocks that were collected as garbage here: by the id in the writer thread, or by the size of a sent record. */
  readonly #unwanted: FinalizationRegistry<number | { readonly sentBytes: number }>;
  readonly #opened: { options: OpenedStore; readonly onBegunAgain: () => void };
  readonly #parts: ThreadStoreParts;

  /** @throws When the folder cannot be read or written. */
  constructor({ path, ...size }: StoreSize & { readonly path: string }, parts: ThreadStoreParts) {
    const { thread, onBegunAgain } = parts;
    this.#parts = parts;
    this.#size = size;
    // LMDB opens a file once for all threads of a process, with the options of the first opening: not read-only.
    this.tables = new BlockTables({ path, isWrittenElsewhere: true });
    this.#unwanted = new FinalizationRegistry((held) =>
      typeof held === "number" ? thread.forget(held) : thread.countSent(-held.sentBytes),
    );
    this.#opened = { options: { path, ...size }, onBegunAgain };
    this.#store = thread.open(this.#opened);
  }

  readonly ingest = async (
    reference: Reference,
    node: AskedUpstream,
    { limits, rules, receipts, signal }: IngestTerms & { readonly signal: Signal },
  ): Promise<IngestOutcome> => {
    const { thread, dialect } = this.#parts;
    const missing = dialect.optional.filter((method) => node.isMissing(method));
    const call = {
      ...({ kind: "ingest", dialect: dialect.kind, reference } as const),
      ...{ node: node.name, missing, limits, rules, receipts },
    };
    const asking = { ask: node.ask.bind(node), signal };
    const { id, result } = thread.ingest(this.#store, call, asking);
    try {
      const ingested = (await result) as IngestOutcome<IngestedBlock | SentRecord>;
      if (ingested.kind !== "ingested") return ingested;
      const { hash, outline } = ingested.block;
      const block = { hash, outline };
      this.#hold(block, id ?? (ingested.block as SentRecord));
      return { ...ingested, block };
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
    void this.#write("resize", this.#size).catch(() => undefined); // a new thread opens the store with this size
  }

  readonly prepareFor: HeldStore["prepareFor"] = (chainId) => this.#write("prepareFor", chainId);
  readonly setNote: HeldStore["setNote"] = (...note) => this.#write("setNote", ...note);
  readonly clear: HeldStore["clear"] = () => this.#write("clear");
  readonly forgetSegments: HeldStore["forgetSegments"] = (forgotten) =>
    this.#write("forgetSegments", forgotten);

  async close(): Promise<void> {
    await this.#call("close").catch(() => undefined); // a thread that has ended has closed the store
    this.#parts.thread.forgetStore(this.#store);
    await this.tables.close();
  }

  /** Bypasses `run`, which itself calls `probe` to try whether the store can be written. */
  probe(): Promise<void> {
    return this.#call("probe");
  }

  apply({ removed, added }: { removed: number; added: readonly IngestedBlock[] }): Promise<void> {
    return this.#write("apply", { removed, added: added.map((block) => this.#given(block)) });
  }

  startAt(block: IngestedBlock): Promise<void> {
    return this.#write("startAt", this.#given(block));
  }

  keep(block: IngestedBlock, isCanonical: boolean): Promise<void> {
    return this.#write("keep", this.#given(block), isCanonical);
  }

  keepTrace(hash: string, position: StoredTracePosition, json: Buffer): Promise<void> {
    return this.#write("keepTrace", hash, position, Buffer.from(Uint8Array.from(json).buffer));
  }

  keepSegment(segment: LogSegment, { json, upstreams }: UpstreamLogs): Promise<void> {
    const copied = Buffer.from(Uint8Array.from(json).buffer);
    return this.#write("keepSegment", segment, { json: copied, upstreams });
  }

  #hold(block: IngestedBlock, held: HeldBlock): void {
    const sentBytes = typeof held === "number" ? 0 : held.bytes.length;
    this.#parts.thread.countSent(sentBytes);
    this.#held.set(block, held);
    this.#unwanted.register(block, typeof held === "number" ? held : { sentBytes }, block);
  }

  /** The block as the writer thread takes it. A record that was sent here is given only once. */
  #given(block: IngestedBlock): HeldBlock {
    const held = this.#held.get(block) ?? FORGOTTEN;
    if (typeof held === "number") return held;
    this.#held.delete(block);
    this.#unwanted.unregister(block);
    this.#parts.thread.countSent(-held.bytes.length);
    return held;
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
    const call = { kind: "write", method, params } as const;
    const transferred = params.flatMap(movable);
    const value = await thread.request(this.#store, call, { transferred }).result;
    this.tables.refresh(); // reads of this thread see the write from here on
    return value as Awaited<ReturnType<HeldStore[Method]>>;
  }
}

/** Stands for a block that was given before: no thread holds this id. */
const FORGOTTEN = -1;

/** The buffers that go to the other thread as they are, without a copy. */
function movable(param: unknown): ArrayBuffer[] {
  const { added } = Object(param) as { added?: unknown };
  const blocks = Array.isArray(param) ? param : Array.isArray(added) ? added : [param];
  return blocks.flatMap((block) => (isSent(block) ? [block.bytes.buffer] : []));
}

const isSent = (value: unknown): value is SentRecord =>
  typeof value === "object" && value !== null && "bytes" in value && "ends" in value;
