// What `safe` and `finalized` stand for: as the nodes say, but always a block of the followed chain.
import type { Position } from "./block-store.ts";
import type { AskedNode, ChainDialect, Tag } from "./dialect.ts";

type Known = { readonly head: string; readonly found: Promise<Position | undefined> };

/** The chain that the tags are to be of. */
export type TaggedChain = {
  readonly head: Position;
  /** The hash at a number; undefined when that block is not here. */
  readonly hashAt: (number: number) => string | undefined;
};

type TaggedParts = {
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly nodes: () => readonly AskedNode[];
};

const PATIENCE_MS = 5_000;

export class TaggedBlocks {
  /** What each tag stood for at the head at which it was asked for last. */
  readonly #known = new Map<Tag, Known>();
  /** A tag does not go backwards, whichever node tells it, while its block is on the chain. */
  readonly #highest = new Map<Tag, Position>();
  readonly #parts: TaggedParts;

  constructor(parts: TaggedParts) {
    this.#parts = parts;
  }

  /** Asked for once a head, whatever the number of callers; undefined when no node knows such a block. */
  find(tag: Tag, chain: TaggedChain): Promise<Position | undefined> {
    const known = this.#known.get(tag);
    if (known?.head === chain.head.hash) return known.found;
    const found = this.#ask(tag, chain);
    this.#known.set(tag, { head: chain.head.hash, found });
    found.then(
      (position) => position ?? this.#known.delete(tag),
      () => this.#known.delete(tag),
    );
    return found;
  }

  async #ask(tag: Tag, chain: TaggedChain): Promise<Position | undefined> {
    const isOurs = ({ number, hash }: Position): boolean =>
      number <= chain.head.number && (chain.hashAt(number) ?? hash) === hash;
    const before = this.#highest.get(tag);
    const known = before && isOurs(before) ? before : undefined;
    for (const node of this.#parts.nodes()) {
      const position = await this.#parts.dialect.readPosition(
        tag,
        node,
        AbortSignal.timeout(PATIENCE_MS),
      );
      if (!position || !isOurs(position)) continue;
      const highest = known && known.number > position.number ? known : position;
      this.#highest.set(tag, highest);
      return highest;
    }
    return known;
  }
}
