// What all subscriptions with the same question are told. Each look at the chain is made once, by the first
// subscription that gets there; the others find it, as long as there is room to hold it.
import type { LogSelection } from "../chain/log-selection.ts";
import type { Position } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { LookMaker } from "./filter-book.ts";
import type { Cursor, FilterQuestion } from "./filter-record.ts";
import type { Changes } from "./open-filter.ts";

/** What there is to tell after a position. */
export type PushedLook = {
  readonly items: readonly RawJson[];
  /** More logs after the items, too many to be held: they are read when they are sent. */
  readonly more?: LogSelection | undefined;
  /** The number of items and further logs. */
  readonly count: number;
  readonly to: StreamPosition;
};

/** A position in the stream, for all subscriptions that are there. */
export class StreamPosition {
  cursor: Cursor;
  next: PushedLook | undefined;
  looking: Promise<void> | undefined;
  /** How often the stream had been touched at the last look from here. */
  seen = 0;
  /** The chain was at the cursor when it was looked at. All later updates are known: they touch the stream. */
  isSettled = false;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  /** Whether the cursor has the way that other gateways need. Such a cursor moves by looks only, which find the way. */
  get hasWay(): boolean {
    return "hash" in this.cursor && this.cursor.way !== undefined;
  }

  /** To be called when blocks came that do not concern the stream. */
  follow(head: Position | undefined): void {
    const { cursor, isSettled, hasWay } = this;
    if (head && isSettled && !hasWay && "hash" in cursor && cursor.number < head.number)
      this.cursor = { number: head.number, hash: head.hash };
  }
}

/** The looks that the fastest subscriptions were told, as long as there is room: the others find them here. */
export class LookShelf {
  readonly #positions: { readonly position: StreamPosition; readonly bytes: number }[] = [];
  #bytes = 0;
  readonly #most: number;

  constructor(options: { readonly bytes: number }) {
    this.#most = options.bytes;
  }

  keep(position: StreamPosition, { items, more }: PushedLook): void {
    const own = items.reduce((sum, { length }) => sum + length, EMPTY_BYTES);
    const bytes = own + (more?.heldBytes ?? 0);
    this.#positions.push({ position, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#most && this.#positions.length > 1) {
      const oldest = this.#positions.shift();
      this.#bytes -= oldest?.bytes ?? 0;
      if (!oldest) return;
      oldest.position.next = undefined;
      oldest.position.seen = 0;
    }
  }
}

/** The timeout of one look at the chain, in milliseconds. */
const LOOK_MS = 30_000;
/** The memory of a look without its items, in bytes. */
const EMPTY_BYTES = 300;

export type PushStreamParts = {
  readonly lookMaker: Pick<LookMaker, "look">;
  readonly shelf: LookShelf;
  readonly clock: Pick<Clock, "after">;
  /** Aborts when the network ends. */
  readonly signal: Signal;
  /** The head of the last chain update. */
  readonly head: () => Position | undefined;
  /**
   * Is called when a look saw a newer or an older head than that: the next update must touch the stream in any case.
   */
  readonly onUnsettled: (stream: PushStream) => void;
};

export class PushStream {
  readonly asked: FilterQuestion;
  /** The subscriptions of the stream. */
  readonly members = new Set<{ readonly position: StreamPosition; wake(): void }>();
  /** Where the last look ended. */
  #latest: StreamPosition | undefined;
  #touches = 1;
  /** The head before the last touch, if blocks were only added since. */
  #before: Position | undefined;
  readonly #parts: PushStreamParts;

  constructor(asked: FilterQuestion, parts: PushStreamParts) {
    this.asked = asked;
    this.#parts = parts;
  }

  /** To be called when the chain was updated in a way that may concern the stream. @param before See `NewLogs.look`. */
  touch(before: Position | undefined): void {
    this.#touches += 1;
    this.#before = before;
    for (const member of this.members) member.wake();
  }

  /** Whether there is nothing to tell after the position until the stream is touched. */
  isAtRest({ seen, next, looking }: StreamPosition): boolean {
    return seen === this.#touches && !next && !looking;
  }

  /** The cursor of subscriptions at a position, as of now. */
  cursorOf(position: StreamPosition): Cursor {
    if (this.isAtRest(position)) position.follow(this.#parts.head());
    return position.cursor;
  }

  /**
   * Looks on behalf of all subscriptions that are where the last look ended, and wakes them when there is something to
   * tell.
   */
  async lookAhead(): Promise<void> {
    const latest = this.#latest;
    if (!latest || latest.next) return;
    await this.look(latest);
    if (latest.next) for (const member of this.members) member.wake();
  }

  /** Resolves when there was a look from the position. @throws What `makeLook` throws. */
  look(position: StreamPosition): Promise<void> {
    position.looking ??= this.#look(position).finally(() => {
      position.looking = undefined;
    });
    return position.looking;
  }

  async #look(position: StreamPosition): Promise<void> {
    const { head, onUnsettled } = this.#parts;
    const touches = this.#touches;
    const before = head();
    if (position.seen === touches - 1) position.follow(this.#before);
    const { items, more, at } = await this.#changesSince(position.cursor);
    const count = items.length + (more?.count ?? 0);
    const to = this.#othersAt(at, position) ?? (count > 0 ? new StreamPosition(at) : position);
    to.cursor = at;
    to.isSettled = isAt(at, before) || isAt(at, head());
    // A look that has much to tell ends before the head: there may be more at once.
    if (to.isSettled || count === 0) to.seen = Math.max(to.seen, touches);
    if (!to.isSettled) onUnsettled(this);
    this.#latest = to;
    if (to === position) return;
    position.next = { items, more, count, to };
    this.#parts.shelf.keep(position, position.next);
  }

  async #changesSince(cursor: Cursor): Promise<Changes> {
    const { lookMaker, clock, signal } = this.#parts;
    const limit = deadline(LOOK_MS, signal, clock);
    try {
      return await lookMaker.look(cursor, { signal: limit.signal });
    } finally {
      limit.done();
    }
  }

  #othersAt(at: Cursor, position: StreamPosition): StreamPosition | undefined {
    const latest = this.#latest;
    const isThere =
      latest && latest !== position && !latest.next && isSame(this.cursorOf(latest), at);
    return isThere ? latest : undefined;
  }
}

const isAt = (at: Cursor, head: Position | undefined): boolean =>
  "hash" in at && at.hash === head?.hash;

const isSame = (one: Cursor, other: Cursor): boolean =>
  "hash" in one
    ? "hash" in other && one.hash === other.hash
    : "sequence" in other && one.sequence === other.sequence;
