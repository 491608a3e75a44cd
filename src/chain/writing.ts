// What writes the store of one network, in this thread or in the one that writes (thread/writer-thread.ts).
import type { BlockRecord } from "./block-record.ts";
import { BlockStore, type ChainUpdate, type RunWrite } from "./block-store.ts";
import type { BlockTables } from "./block-tables.ts";
import type { SegmentOrigin } from "./kept-segments.ts";
import type { StoreSize } from "./store-room.ts";
import type { TakenBlock } from "./take-block.ts";

/** Which kept logs are to go: those of an upstream, or of any that is none of these. */
export type Forgotten = { readonly of: string } | { readonly ofOthersThan: readonly string[] };

/** See `BlockStore`; what it takes in was taken by `TakeBlock` beside it. */
export type StoreWriting = Pick<
  BlockStore,
  | "prepareFor"
  | "resize"
  | "setNote"
  | "clear"
  | "close"
  | "probe"
  | "keepTrace"
  | "keepSegment"
  | "size"
> & {
  readonly tables: BlockTables;
  apply(update: Pick<ChainUpdate, "removed"> & { added: readonly TakenBlock[] }): Promise<void>;
  startAt(block: TakenBlock): Promise<void>;
  /** See `BlocksBelow`. */
  readonly below: {
    add(blocks: readonly TakenBlock[]): Promise<boolean>;
    finish(): Promise<number>;
  };
  keep(block: TakenBlock, isCanonical: boolean): Promise<void>;
  forgetSegments(forgotten: Forgotten): Promise<number>;
};

export const isForgotten =
  (forgotten: Forgotten) =>
  ({ upstreams }: SegmentOrigin): boolean =>
    "of" in forgotten
      ? upstreams.includes(forgotten.of)
      : // What is of nobody was kept by an earlier version.
        upstreams.length === 0 || upstreams.some((name) => !forgotten.ofOthersThan.includes(name));

/**
 * By this thread: what was taken here is whole.
 *
 * @throws When the folder cannot be read or written.
 */
export function writingHere(
  options: StoreSize & { readonly path: string },
  run: RunWrite,
): StoreWriting {
  const store = new BlockStore(options, { run });
  const whole = (block: TakenBlock): BlockRecord => block as BlockRecord;
  return {
    tables: store.tables,
    get size() {
      return store.size;
    },
    prepareFor: (chainId) => store.prepareFor(chainId),
    resize: (size) => store.resize(size),
    setNote: (name, text) => store.setNote(name, text),
    clear: () => store.clear(),
    close: () => store.close(),
    probe: () => store.probe(),
    keepTrace: (hash, position, json) => store.keepTrace(hash, position, json),
    keepSegment: (segment, logs) => store.keepSegment(segment, logs),
    apply: ({ removed, added }) => store.apply({ removed, added: added.map(whole) }),
    startAt: (block) => store.startAt(whole(block)),
    below: {
      add: (blocks) => store.below.add(blocks.map(whole)),
      finish: () => store.below.finish(),
    },
    keep: (block, isCanonical) => store.keep(whole(block), isCanonical),
    forgetSegments: (forgotten) => store.forgetSegments(isForgotten(forgotten)),
  };
}
