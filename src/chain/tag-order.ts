// `finalized`, `safe` and the head as one call, or all calls of one batch, see them: none is beyond the next.
import type { Tag } from "./dialect.ts";
import type { Position } from "./store-keys.ts";

export type TagOrderParts = {
  /** What the tag stands for by now. */
  readonly tagged: (tag: Tag) => Promise<Position | undefined>;
};

export class TagOrder {
  /** What each tag was found to stand for: asked for again, it is the same. */
  readonly #found = new Map<Tag, Promise<Position | undefined>>();
  readonly #head: Position;
  readonly #parts: TagOrderParts;

  /** @param head The newest block that is seen: nothing is told from beyond it. */
  constructor(head: Position, parts: TagOrderParts) {
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
    // What was asked for before this is told by now, and stays: the later one gives way.
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

const higher = (one: Found, bound: Found): Found =>
  !one || (bound && bound.number > one.number) ? (bound ?? one) : one;
