// A stream serves all subscriptions with the same question. The first subscription at
// a position finds the changes after it; the others get the same changes, as long as memory has room for them.
import type { Position } from "../chain/stored-block.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { ChangesFinder } from "./filter-book.ts";
import type { Cursor, FilterQuestion } from "./filter-record.ts";
import type { Changes, FoundItems } from "./open-filter.ts";

/** The items after a position. */
export type PushedChanges = FoundItems & {
  /** The number of items and further logs. */
  readonly count: number;
  readonly to: StreamPosition;
};

/** A position in the stream, which all subscriptions at this position share. */
export class StreamPosition {
  cursor: Cursor;
  next: PushedChanges | undefined;
  finding: Promise<void> | undefined;
  /** The stream's number of touches when changes were sought from this position last. */
  seen = 0;
  /** Whether the cursor was the head when the changes were found: then each later update that concerns the stream touches it. */
  isSettled = false;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  /** Whether the cursor has the path that other gateways need. Only `find` makes a path, so only it moves such a cursor. */
  get hasPath(): boolean {
    return "hash" in this.cursor && this.cursor.path !== undefined;
  }

  /** Moves the cursor over new blocks that do not concern the stream. */
  follow(head: Position | undefined): void {
    const { cursor, isSettled, hasPath } = this;
    if (head && isSettled && !hasPath && "hash" in cursor && cursor.number < head.number)
      this.cursor = { number: head.number, hash: head.hash };
  }
}

/** Holds changes for slower subscriptions, and drops the oldest ones beyond a number of bytes. */
export class ChangesCache {
  readonly #positions: { readonly position: StreamPosition; readonly bytes: number }[] = [];
  #bytes = 0;
  readonly #most: number;

  constructor(options: { readonly bytes: number }) {
    this.#most = options.bytes;
  }

  keep(position: StreamPosition, { items, more }: PushedChanges): void {
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

/** The timeout of one search for changes, in milliseconds. */
const FIND_MS = 30_000;
/** The memory of changes without their items, in bytes. */
const EMPTY_BYTES = 300;

export type PushStreamParts = {
  readonly finder: Pick<ChangesFinder, "find">;
  readonly cache: ChangesCache;
  readonly clock: Pick<Clock, "after">;
  /** Aborts when the network ends. */
  readonly signal: Signal;
  /** The head of the last chain update. */
  readonly head: () => Position | undefined;
  /** Called when the changes end at a newer or an older head than `head()`: the next update must touch the stream in any case. */
  readonly onUnsettled: (stream: PushStream) => void;
};

export class PushStream {
  readonly asked: FilterQuestion;
  /** The subscriptions of the stream. */
  readonly members = new Set<{ readonly position: StreamPosition; wake(): void }>();
  /** The position at which the last changes end. */
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
  isAtRest({ seen, next, finding }: StreamPosition): boolean {
    return seen === this.#touches && !next && !finding;
  }

  /** The present cursor of the subscriptions at a position. */
  cursorOf(position: StreamPosition): Cursor {
    if (this.isAtRest(position)) position.follow(this.#parts.head());
    return position.cursor;
  }

  /** Finds changes once for all subscriptions at the end of the last ones, and wakes them when there are items. */
  async findAhead(): Promise<void> {
    const latest = this.#latest;
    if (!latest || latest.next) return;
    await this.findChanges(latest);
    if (latest.next) for (const member of this.members) member.wake();
  }

  /** Finds the changes after the position, or waits while they are sought. @throws The error of `ChangesFinder.find`. */
  findChanges(position: StreamPosition): Promise<void> {
    position.finding ??= this.#findChanges(position).finally(() => {
      position.finding = undefined;
    });
    return position.finding;
  }

  async #findChanges(position: StreamPosition): Promise<void> {
    const { head, onUnsettled } = this.#parts;
    const touches = this.#touches;
    const before = head();
    if (position.seen === touches - 1) position.follow(this.#before);
    const { at, ...found } = await this.#changesSince(position.cursor);
    const { items, more } = found;
    const count = items.length + (more?.count ?? 0);
    const to = this.#othersAt(at, position) ?? (count > 0 ? new StreamPosition(at) : position);
    to.cursor = at;
    to.isSettled = isAt(at, before) || isAt(at, head());
    // Changes with many items end before the head: another search may find more items at once.
    if (to.isSettled || count === 0) to.seen = Math.max(to.seen, touches);
    if (!to.isSettled) onUnsettled(this);
    this.#latest = to;
    if (to === position) return;
    position.next = { ...found, count, to };
    this.#parts.cache.keep(position, position.next);
  }

  async #changesSince(cursor: Cursor): Promise<Changes> {
    const { finder, clock, signal } = this.#parts;
    const limit = deadline(FIND_MS, signal, clock);
    try {
      return await finder.find(cursor, { signal: limit.signal });
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
