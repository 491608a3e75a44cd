// What `safe` and `finalized` stand for: as the nodes say, but always a block of the followed chain; and for one
// call, or all calls of one batch, in order: neither is beyond the next, nor beyond the head.

import type { AskedNode, ChainDialect, Tag } from "./dialect.ts";
import type { Position } from "./stored-block.ts";

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

const TIMEOUT_MS = 5_000;

export class TaggedBlocks {
  /** What each tag stood for at the head at which it was asked for last. */
  readonly #known = new Map<Tag, Known>();
  /** A tag does not go backwards, whichever node says so, while its block is on the chain. */
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

  /** Where `safe` was answered at this head, `finalized` is not beyond it. */
  async #notBeyondSafe(finalized: Position, { head }: TaggedChain): Promise<Position> {
    const known = this.#known.get("safe");
    const safe = known?.head === head.hash ? await known.found.catch(() => undefined) : undefined;
    return safe && safe.number < finalized.number ? safe : finalized;
  }

  /** What the node says, as a block of this chain; undefined when it is none. */
  async #read(tag: Tag, node: AskedNode, chain: TaggedChain): Promise<Position | undefined> {
    const read = (numberOrTag: number | Tag): Promise<Position | undefined> =>
      this.#parts.dialect.readPosition(numberOrTag, node, AbortSignal.timeout(TIMEOUT_MS));
    const position = await read(tag);
    if (!position || position.number <= chain.head.number)
      return position && isOf(chain, position) ? position : undefined;
    // The node is further than this chain: its tag is the head's as well if the head is on its chain.
    const atHead = await read(chain.head.number);
    return atHead?.hash === chain.head.hash ? chain.head : undefined;
  }

  /** What was answered before and holds. What is finalized is safe, whichever of both a node gave last. */
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

/** `finalized`, `safe` and the head as one call, or all calls of one batch, see them. */
export class TagOrder {
  /** What each tag was found to stand for: asked for again, it is the same. */
  readonly #found = new Map<Tag, Promise<Position | undefined>>();
  readonly #head: Position;
  readonly #parts: { tagged(tag: Tag): Promise<Found> };

  /**
   * @param head The newest block that is seen: no answer is beyond it.
   * @param parts.tagged What the tag stands for by now.
   */
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
    // The answers to earlier questions stay: this one gives way.
    const safe = this.#found.get("safe");
    const finalized = this.#found.get("finalized");
    const position = lower(await this.#parts.tagged(tag), this.#head);
    if (tag === "finalized") return lower(position, await safe);
    return tag === "safe" ? higher(position, await finalized) : position;
  }
}

type Found = Position | undefined;

/** The ancestors of what is safe or finalized are so, too. */
const lower = (one: Found, bound: Found): Found =>
  one && bound && bound.number < one.number ? bound : one;

const higher = <Other extends Found>(one: Found, other: Other): Position | Other =>
  one && (!other || one.number >= other.number) ? one : other;
