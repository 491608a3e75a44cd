// A stream serves all subscriptions with the same question. A look finds the items after a position. The first
// subscription at the position makes the look; the others find its result, as long as memory has room for the result.
import type { LogSelection } from "../chain/log-selection.ts";
import type { Position } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { LookMaker } from "./filter-book.ts";
import type { Cursor, FilterQuestion } from "./filter-record.ts";
import type { Changes } from "./open-filter.ts";

/** The result of a look: the items after a position. */
export type PushedLook = {
  readonly items: readonly RawJson[];
  /** More logs after the items, too many for memory: they are read from the store as they are sent. */
  readonly more?: LogSelection | undefined;
  /** The number of items and further logs. */
  readonly count: number;
  readonly to: StreamPosition;
};

/** A position in the stream, which all subscriptions at this position share. */
export class StreamPosition {
  cursor: Cursor;
  next: PushedLook | undefined;
  looking: Promise<void> | undefined;
  /** The stream's number of touches at the last look from this position. */
  seen = 0;
  /** Whether the cursor was the head at the look: then each later update that concerns the stream touches it. */
  isSettled = false;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  /** Whether the cursor has the way that other gateways need. Only looks find a way, so only they move such a cursor. */
  get hasWay(): boolean {
    return "hash" in this.cursor && this.cursor.way !== undefined;
  }

  /** Moves the cursor over new blocks that do not concern the stream. */
  follow(head: Position | undefined): void {
    const { cursor, isSettled, hasWay } = this;
    if (head && isSettled && !hasWay && "hash" in cursor && cursor.number < head.number)
      this.cursor = { number: head.number, hash: head.hash };
  }
}

/** Holds the results of looks for slower subscriptions, and drops the oldest ones beyond a number of bytes. */
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
  /** Called when a look saw a newer or an older head than `head()`: the next update must touch the stream in any case. */
  readonly onUnsettled: (stream: PushStream) => void;
};

export class PushStream {
  readonly asked: FilterQuestion;
  /** The subscriptions of the stream. */
  readonly members = new Set<{ readonly position: StreamPosition; wake(): void }>();
  /** The position at which the last look ended. */
  #latest: StreamPosition | undefined;
  #touches = 1;
  /** The head before the last touch, if the chain only added blocks since. */
  #before: Position | undefined;
  readonly #parts: PushStreamParts;

  constructor(asked: FilterQuestion, parts: PushStreamParts) {
    this.asked = asked;
    this.#parts = parts;
  }

  /** Called after a chain update that may concern the stream. @param before See `NewLogs.look`. */
  touch(before: Position | undefined): void {
    this.#touches += 1;
    this.#before = before;
    for (const member of this.members) member.wake();
  }

  /** Whether the stream has no items after the position until its next touch. */
  isAtRest({ seen, next, looking }: StreamPosition): boolean {
    return seen === this.#touches && !next && !looking;
  }

  /** The present cursor of the subscriptions at a position. */
  cursorOf(position: StreamPosition): Cursor {
    if (this.isAtRest(position)) position.follow(this.#parts.head());
    return position.cursor;
  }

  /** Looks once for all subscriptions at the end of the last look, and wakes them when the look finds items. */
  async lookAhead(): Promise<void> {
    const latest = this.#latest;
    if (!latest || latest.next) return;
    await this.look(latest);
    if (latest.next) for (const member of this.members) member.wake();
  }

  /** Looks from the position, or waits for the look under way. @throws The error of `LookMaker.look`. */
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
    // A look with many items ends before the head: another look may find more items at once.
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
