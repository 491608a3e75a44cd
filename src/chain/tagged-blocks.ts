// Resolves `safe` and `finalized` to the blocks that nodes name, if these are on the followed chain. In one call, or all
// calls of one batch, `finalized` is not above `safe`, and neither is above the head.

import type { AskedUpstream, ChainDialect, Tag } from "./dialect.ts";
import type { Position } from "./stored-block.ts";

type Known = { readonly head: string; readonly found: Promise<Position | undefined> };

/** The followed chain that the tags are resolved on. */
export type TaggedChain = {
  readonly head: Position;
  /** The hash at a number; undefined when that block is not stored. */
  readonly hashAt: (number: number) => string | undefined;
};

type TaggedParts = {
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly nodes: () => readonly AskedUpstream[];
};

const TIMEOUT_MS = 5_000;

export class TaggedBlocks {
  /** The last result for each tag, and the hash of the head under which the tag was resolved. */
  readonly #known = new Map<Tag, Known>();
  /** The highest block of each tag. A tag does not go back while that block is on the chain, whichever node replies. */
  readonly #highest = new Map<Tag, Position>();
  readonly #parts: TaggedParts;

  constructor(parts: TaggedParts) {
    this.#parts = parts;
  }

  /** Resolves the tag, once for each head, for all callers; undefined when no node knows such a block. */
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
    for (const node of this.#parts.nodes()) {
      const position = await this.#read(tag, node, chain);
      if (!position) continue;
      const highest = higher(this.#foundBefore(tag, chain), position);
      const found = tag === "finalized" ? await this.#notBeyondSafe(highest, chain) : highest;
      this.#highest.set(tag, found);
      return found;
    }
    return this.#foundBefore(tag, chain);
  }

  /** If `safe` was resolved at this head, `finalized` must not be above it. */
  async #notBeyondSafe(finalized: Position, { head }: TaggedChain): Promise<Position> {
    const known = this.#known.get("safe");
    const safe = known?.head === head.hash ? await known.found.catch(() => undefined) : undefined;
    return safe && safe.number < finalized.number ? safe : finalized;
  }

  /** The block that the node names, if the block is on this chain; else undefined. */
  async #read(tag: Tag, node: AskedUpstream, chain: TaggedChain): Promise<Position | undefined> {
    const read = (numberOrTag: number | Tag): Promise<Position | undefined> =>
      this.#parts.dialect.readPosition(numberOrTag, node, AbortSignal.timeout(TIMEOUT_MS));
    const position = await read(tag);
    if (!position || position.number <= chain.head.number)
      return position && isOf(chain, position) ? position : undefined;
    // The node is ahead of this chain: its tag holds if our head is on the node's chain.
    const atHead = await read(chain.head.number);
    return atHead?.hash === chain.head.hash ? chain.head : undefined;
  }

  /** The highest earlier result that is still on the chain. A finalized block is safe as well, whichever is newer. */
  #foundBefore(tag: Tag, chain: TaggedChain): Position | undefined {
    const [own, final] = [tag, "finalized" as const].map((each) => {
      const position = this.#highest.get(each);
      return position && isOf(chain, position) ? position : undefined;
    });
    return tag === "safe" && final ? higher(own, final) : own;
  }
}

const isOf = ({ head, hashAt }: TaggedChain, { number, hash }: Position): boolean =>
  number <= head.number && (hashAt(number) ?? hash) === hash;

/** Keeps `finalized`, `safe` and the head in order, for one call, or all calls of one batch. */
export class TagOrder {
  /** The result for each tag, so that the same tag has the same result later. */
  readonly #found = new Map<Tag, Promise<Position | undefined>>();
  readonly #head: Position;
  readonly #parts: { tagged(tag: Tag): Promise<Found> };

  /** @param head The newest block of the view: no tag is above it. @param parts.tagged Resolves the tag now. */
  constructor(head: Position, parts: { tagged(tag: Tag): Promise<Found> }) {
    this.#head = head;
    this.#parts = parts;
  }

  find(tag: Tag): Promise<Position | undefined> {
    const known = this.#found.get(tag);
    if (known !== undefined) return known;
    const found = this.#look(tag);
    this.#found.set(tag, found);
    found.catch(() => this.#found.delete(tag));
    return found;
  }

  async #look(tag: Tag): Promise<Position | undefined> {
    // Earlier results do not change, so this result is adapted to them.
    const safe = this.#found.get("safe");
    const finalized = this.#found.get("finalized");
    const position = lower(await this.#parts.tagged(tag), this.#head);
    if (tag === "finalized") return lower(position, await safe);
    return tag === "safe" ? higher(position, await finalized) : position;
  }
}

type Found = Position | undefined;

/** The lower of both: the ancestors of a safe or finalized block are safe or finalized, too. */
const lower = (one: Found, bound: Found): Found =>
  one && bound && bound.number < one.number ? bound : one;

const higher = <Other extends Found>(one: Found, other: Other): Position | Other =>
  one && (!other || one.number >= other.number) ? one : other;
