// Bounds the requests that one node gets at the same time, and chooses the next call while calls wait. While no call
// waits, none is delayed.

import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryHolder } from "../lib/memory-budget.ts";
import type { WorkKind } from "../namespaces/known-method.ts";
import type { BatchSizes } from "./capabilities/batch-sizes.ts";

/** An asker with a deadline. */
export type AskerWithDeadline = Asker & {
  /** The time until the deadline, in milliseconds. */
  readonly remainingMs: number;
  /** The key for which the bytes of arriving answers count. */
  readonly memory?: MemoryHolder | undefined;
};

export type NodeTurnsParts = {
  readonly clock: Pick<Clock, "now">;
  readonly sizes: Pick<BatchSizes, "mostOf" | "take">;
};

/** A slot at the node for one request: one call, or several calls of one key. */
export type Turn = {
  readonly kind: "turn";
  /** The name of the key; undefined for the gateway's own calls, which hold no slot. */
  readonly holder: string | undefined;
  /** The kind of work of all calls in the turn; undefined: the turn has one call. */
  readonly group: WorkKind | undefined;
  /** The number of calls in the turn. */
  calls: number;
  /** The number of calls that may still join; 0 once the request is sent. */
  room: number;
};

/** The reason why a call gets no turn: too many calls wait, its turn would come too late, or its caller left. */
export type NoTurn = { readonly kind: "full" | "late" | "left"; readonly waitMs: number };

type Waiting = {
  readonly asker: Asker;
  readonly group: WorkKind | undefined;
  readonly begin: (turn: Turn) => void;
};

/** The most calls that may wait for one node: of one caller, of one key, and of all keys. */
const MOST = { ofClient: 2_000, ofKey: 4_000, inAll: 16_000 };
/** The share of slots for keys without a call at the node: slow calls of one key must not hold all slots. */
const KEPT_SHARE = 1 / 8;
/** The weight of the newest time in the moving mean. */
const SMOOTHING = 0.1;

export class NodeTurns {
  /** How many slots each key holds. */
  readonly #runningByKey = new Map<string, number>();
  #running = 0;
  /** Turns that other calls may join, by group and key. */
  readonly #open = new Map<string, Turn>();
  readonly #queue = new FairQueue<Waiting>();
  /** The moving mean of the times for which calls held a slot; 0 before the first. */
  #meanMs = 0;
  readonly #slots: number;
  readonly #kept: number;
  readonly #parts: NodeTurnsParts;

  /** @param options.slots The most requests that the node gets at the same time. */
  constructor({ slots }: { readonly slots: number }, parts: NodeTurnsParts) {
    this.#slots = slots;
    this.#kept = Math.floor(slots * KEPT_SHARE);
    this.#parts = parts;
  }

  /** The number of calls that wait for a turn. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Takes a turn, or joins one that is not sent yet. The caller ends the turn with `end`.
   * @param group As `BatchSizes.groupOf` gives it; undefined: the call goes by itself.
   * @returns A promise only where the call has to wait.
   */
  begin(
    asker: AskerWithDeadline,
    signal: Signal,
    group?: WorkKind,
  ): Turn | NoTurn | Promise<Turn | NoTurn> {
    const { holder } = asker;
    const open = group && this.#openTurn(holder, group);
    if (open) return open;
    if (this.#mayBegin(holder) && this.#isNext(asker)) return this.#take(holder, group);
    return this.#wait(asker, group, signal);
  }

  /** A turn for the gateway's own calls, which do not wait. */
  ownTurn(group: WorkKind): Turn {
    return this.#openTurn(undefined, group) ?? this.#made(undefined, group);
  }

  /**
   * Ends a turn of one call. The last call of a turn gives the slot to the next call that waits.
   * @param sent Left out: nothing was sent. `sentAtMs` is by the clock's `now`; `isCutOff`: the call was aborted.
   */
  end(turn: Turn, sent?: { readonly sentAtMs: number; readonly isCutOff: boolean }): void {
    turn.calls -= 1;
    if (turn.calls > 0) return;
    turn.room = 0;
    const { holder, group } = turn;
    if (group && this.#open.get(nameOf(holder, group)) === turn)
      this.#open.delete(nameOf(holder, group));
    if (holder === undefined) return;
    if (sent) this.#learn(this.#parts.clock.now() - sent.sentAtMs, sent.isCutOff);
    this.#running -= 1;
    const running = (this.#runningByKey.get(holder) ?? 1) - 1;
    if (running === 0) this.#runningByKey.delete(holder);
    else this.#runningByKey.set(holder, running);
    if (this.#queue.size > 0) this.#beginNext();
  }

  /** An aborted call would have taken longer, so its time counts only when it is longer than the mean. */
  #learn(ms: number, isCutOff: boolean): void {
    if (isCutOff && ms < this.#meanMs) return;
    this.#meanMs = this.#meanMs === 0 ? ms : this.#meanMs + (ms - this.#meanMs) * SMOOTHING;
  }

  #wait(
    asker: AskerWithDeadline,
    group: WorkKind | undefined,
    signal: Signal,
  ): NoTurn | Promise<Turn | NoTurn> {
    const together = group ? this.#parts.sizes.mostOf(group) : 1;
    const turnsAhead = Math.ceil(this.#queue.ahead(asker) / together);
    const waitMs = (turnsAhead * this.#meanMs) / this.#slots;
    const { ofKey, ofClient } = this.#queue.sizesOf(asker);
    const isFull =
      ofClient >= MOST.ofClient || ofKey >= MOST.ofKey || this.#queue.size >= MOST.inAll;
    if (isFull) return { kind: "full", waitMs };
    if (waitMs > asker.remainingMs) return { kind: "late", waitMs };
    return new Promise((resolve) => {
      const onLeave = (): void => {
        this.#queue.remove(waiting);
        resolve({ kind: "left", waitMs: 0 });
      };
      const begin = (turn: Turn): void => {
        signal.removeEventListener("abort", onLeave);
        resolve(turn);
      };
      const waiting: Waiting = { asker, group, begin };
      if (signal.aborted) return resolve({ kind: "left", waitMs: 0 });
      signal.addEventListener("abort", onLeave, { once: true });
      this.#queue.add(waiting);
    });
  }

  /** Begins the next call in turn, and calls behind it that may join. */
  #beginNext(): void {
    const next = this.#queue.take((holder) => this.#mayBegin(holder));
    if (!next) return;
    const { group, asker } = next;
    const turn = this.#take(asker.holder, group);
    next.begin(turn);
    if (!group) return;
    while (turn.room > 0) {
      const other = this.#queue.takeOf(asker.holder, (waiting) => waiting.group === group);
      if (!other) return;
      joined(turn);
      other.begin(turn);
    }
  }

  #mayBegin(holder: string): boolean {
    const free = this.#slots - this.#running;
    return free > this.#kept || (free > 0 && !this.#runningByKey.has(holder));
  }

  /** Whether the call may go before those that wait: there are none, or its key has no call that waits or is sent. */
  #isNext(asker: Asker): boolean {
    if (this.#queue.size === 0) return true;
    return !this.#runningByKey.has(asker.holder) && this.#queue.sizesOf(asker).ofKey === 0;
  }

  #take(holder: string, group: WorkKind | undefined): Turn {
    this.#running += 1;
    this.#runningByKey.set(holder, (this.#runningByKey.get(holder) ?? 0) + 1);
    return this.#made(holder, group);
  }

  /** Makes a turn with one call. */
  #made(holder: string | undefined, group: WorkKind | undefined): Turn {
    const room = group ? this.#parts.sizes.take(group) - 1 : 0;
    const turn: Turn = { kind: "turn", holder, group, calls: 1, room };
    if (group && room > 0) this.#open.set(nameOf(holder, group), turn);
    return turn;
  }

  /** Finds an open turn with room, and adds a call to it. */
  #openTurn(holder: string | undefined, group: WorkKind): Turn | undefined {
    const turn = this.#open.get(nameOf(holder, group));
    return turn && turn.room > 0 ? joined(turn) : undefined;
  }
}

/** The name of an open turn; it is unique, since no group has a space in its name. */
const nameOf = (holder: string | undefined, group: WorkKind): string =>
  holder === undefined ? group : `${group} ${holder}`;

function joined(turn: Turn): Turn {
  turn.calls += 1;
  turn.room -= 1;
  return turn;
}

/** The key and the caller for whom a call waits. */
type Asker = {
  /** The name of the key. */
  readonly holder: string;
  /** The name of one of the key's callers, such as its address. */
  readonly client: string;
  /** A key of weight 2 gets two turns where a key of weight 1 gets one. */
  readonly weight: number;
};

/** The waiting items of one key: callers in the order of their turns, each caller's items in the order of arrival. */
type KeyQueue<Item> = {
  readonly byClient: Map<string, Set<Item>>;
  size: number;
  turnsLeft: number;
};

/**
 * Waiting items in fair order: keys take turns, each as often as its weight, and within a key its callers take turns.
 * Knows neither time nor upstreams.
 */
export class FairQueue<Item extends { readonly asker: Asker }> {
  /** The keys with waiting items, in the order of their turns. */
  readonly #byKey = new Map<string, KeyQueue<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The numbers of waiting items of the key and of the caller. */
  sizesOf({ holder, client }: Asker): { readonly ofKey: number; readonly ofClient: number } {
    const queue = this.#byKey.get(holder);
    return { ofKey: queue?.size ?? 0, ofClient: queue?.byClient.get(client)?.size ?? 0 };
  }

  /** The most items that would come before one more item of this asker. */
  ahead({ holder, client, weight }: Asker): number {
    const own = this.#byKey.get(holder);
    const ofClient = own?.byClient.get(client)?.size ?? 0;
    const clients = own?.byClient.size ?? 0;
    const inKey = Math.min(own?.size ?? 0, (ofClient + 1) * Math.max(1, clients));
    const rounds = Math.ceil((inKey + 1) / weight);
    let others = 0;
    for (const [key, queue] of this.#byKey)
      if (key !== holder) others += Math.min(queue.size, rounds * queue.turnsLeft);
    return inKey + others;
  }

  add(item: Item): void {
    const { holder, client, weight } = item.asker;
    let queue = this.#byKey.get(holder);
    if (!queue) {
      queue = { byClient: new Map(), size: 0, turnsLeft: weight };
      this.#byKey.set(holder, queue);
    }
    const items = queue.byClient.get(client);
    if (items) items.add(item);
    else queue.byClient.set(client, new Set([item]));
    queue.size += 1;
    this.#size += 1;
  }

  /** Removes an item whose caller left. */
  remove(item: Item): void {
    const { holder, client } = item.asker;
    const queue = this.#byKey.get(holder);
    const items = queue?.byClient.get(client);
    if (!queue || !items?.delete(item)) return;
    if (items.size === 0) queue.byClient.delete(client);
    this.#taken(holder, queue);
  }

  /** Takes the next item of the first key in turn that `may` allows. @param may Whether a key may have a turn now. */
  take(may: (holder: string) => boolean): Item | undefined {
    for (const [holder, queue] of this.#byKey) {
      if (!may(holder)) continue;
      const item = nextOf(queue);
      queue.turnsLeft -= 1;
      if (queue.turnsLeft <= 0) {
        this.#byKey.delete(holder); // moves the key to the end
        this.#byKey.set(holder, queue);
        queue.turnsLeft = item.asker.weight;
      }
      this.#taken(holder, queue);
      return item;
    }
    return undefined;
  }

  /** Takes the next item of one key out of turn, if `isWanted`. */
  takeOf(holder: string, isWanted: (item: Item) => boolean): Item | undefined {
    const queue = this.#byKey.get(holder);
    if (!queue || !isWanted(firstOf(queue))) return undefined;
    const item = nextOf(queue);
    this.#taken(holder, queue);
    return item;
  }

  #taken(holder: string, queue: KeyQueue<Item>): void {
    queue.size -= 1;
    this.#size -= 1;
    if (queue.size === 0) this.#byKey.delete(holder);
  }
}

/** The next item; there is one, since a key or caller without waiting items is not in the queue. */
function firstOf<Item>({ byClient }: KeyQueue<Item>): Item {
  const [items] = byClient.values() as unknown as [Set<Item>];
  const [item] = items as unknown as [Item];
  return item;
}

/** Takes the next item, and moves its caller to the end. */
function nextOf<Item>({ byClient }: KeyQueue<Item>): Item {
  const [[client, items]] = byClient as unknown as [[string, Set<Item>]];
  const [item] = items as unknown as [Item];
  items.delete(item);
  byClient.delete(client);
  if (items.size > 0) byClient.set(client, items);
  return item;
}
