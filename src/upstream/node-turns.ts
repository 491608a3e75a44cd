// What may be sent to one node at once, and whose turn it is when more wants to be sent. Where nothing
// waits, nothing is delayed.

import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryHolder } from "../lib/memory-budget.ts";
import type { WorkKind } from "../namespaces/known-method.ts";
import type { BatchSizes } from "./capabilities/batch-sizes.ts";

/** An asker that waits until a deadline. */
export type HurriedAsker = Asker & {
  /** How long somebody waits for the answer from now on, in milliseconds. */
  readonly remainingMs: number;
  /** Where answers to it are counted while they come. */
  readonly memory?: MemoryHolder | undefined;
};

export type NodeTurnsOptions = {
  /** What the node is sent at once, in requests. */
  readonly slots: number;
};

export type NodeTurnsParts = {
  readonly clock: Pick<Clock, "now">;
  readonly sizes: Pick<BatchSizes, "mostOf" | "take">;
};

/** A slot at the node: for one call, or for several of one key that go as one request. */
export type Turn = {
  readonly kind: "turn";
  /** undefined: nobody's but the gateway's own, which holds no slot. */
  readonly holder: string | undefined;
  /** What its calls have in common; undefined: there is one. */
  readonly group: WorkKind | undefined;
  /** That have it. */
  calls: number;
  /** How many more may come along; 0 when the request is sent. */
  room: number;
};

/** Why there is no turn: too many wait, it would come too late, or nobody waits any more. */
export type NoTurn = { readonly kind: "full" | "late" | "left"; readonly waitMs: number };

type Waiting = {
  readonly asker: Asker;
  readonly group: WorkKind | undefined;
  readonly begin: (turn: Turn) => void;
};

/** Of what waits for one node. */
const MOST = { ofClient: 2_000, ofKey: 4_000, inAll: 16_000 };
/** The share of slots that is kept for keys of which the node has nothing: slow work of one key must not hold all. */
const KEPT_SHARE = 1 / 8;
/** How much the newest time counts. */
const SMOOTHING = 0.1;

export class NodeTurns {
  /** Slots that are taken, by key. */
  readonly #runningByKey = new Map<string, number>();
  #running = 0;
  /** Turns that others may have a part in, by group and key. */
  readonly #open = new Map<string, Turn>();
  readonly #queue = new FairQueue<Waiting>();
  /** How long a slot is held, lately; 0 before anything was. */
  #meanMs = 0;
  readonly #slots: number;
  readonly #kept: number;
  readonly #parts: NodeTurnsParts;

  constructor({ slots }: NodeTurnsOptions, parts: NodeTurnsParts) {
    this.#slots = slots;
    this.#kept = Math.floor(slots * KEPT_SHARE);
    this.#parts = parts;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Takes a turn, or a part in one that is not sent yet, to be given back with `end`.
   *
   * @param group See `BatchSizes`; undefined: it goes by itself.
   * @returns A promise only where the call has to wait.
   */
  begin(
    asker: HurriedAsker,
    signal: Signal,
    group?: WorkKind,
  ): Turn | NoTurn | Promise<Turn | NoTurn> {
    const { holder } = asker;
    const open = group && this.#openTurn(holder, group);
    if (open) return open;
    if (this.#mayBegin(holder) && this.#isNext(asker)) return this.#take(holder, group);
    return this.#wait(asker, group, signal);
  }

  /** For what the gateway asks for itself: it does not wait. */
  ownTurn(group: WorkKind): Turn {
    return this.#openTurn(undefined, group) ?? this.#made(undefined, group);
  }

  /** @param sent Left out: nothing was sent. `sentAtMs` is by the clock's `now`; `isCutOff`: nobody waited for the answer. */
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

  /** An answer that was cut off would have taken longer: it says nothing when it took less than others. */
  #learn(ms: number, isCutOff: boolean): void {
    if (isCutOff && ms < this.#meanMs) return;
    this.#meanMs = this.#meanMs === 0 ? ms : this.#meanMs + (ms - this.#meanMs) * SMOOTHING;
  }

  #wait(
    asker: HurriedAsker,
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

  /** The next in turn, and what waits behind it and may come along. */
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

  /** Nobody waits, or none whose turn came before. */
  #isNext(asker: Asker): boolean {
    if (this.#queue.size === 0) return true;
    return !this.#runningByKey.has(asker.holder) && this.#queue.sizesOf(asker).ofKey === 0;
  }

  #take(holder: string, group: WorkKind | undefined): Turn {
    this.#running += 1;
    this.#runningByKey.set(holder, (this.#runningByKey.get(holder) ?? 0) + 1);
    return this.#made(holder, group);
  }

  /** With one call. */
  #made(holder: string | undefined, group: WorkKind | undefined): Turn {
    const room = group ? this.#parts.sizes.take(group) - 1 : 0;
    const turn: Turn = { kind: "turn", holder, group, calls: 1, room };
    if (group && room > 0) this.#open.set(nameOf(holder, group), turn);
    return turn;
  }

  /** One that has room, with a call more. */
  #openTurn(holder: string | undefined, group: WorkKind): Turn | undefined {
    const turn = this.#open.get(nameOf(holder, group));
    return turn && turn.room > 0 ? joined(turn) : undefined;
  }
}

/** Of an open turn: no group has a blank in its name. */
const nameOf = (holder: string | undefined, group: WorkKind): string =>
  holder === undefined ? group : `${group} ${holder}`;

function joined(turn: Turn): Turn {
  turn.calls += 1;
  turn.room -= 1;
  return turn;
}

/** On whose behalf something waits. */
type Asker = {
  /** The name of the key. */
  readonly holder: string;
  /** One of the key's callers, such as by its address. */
  readonly client: string;
  /** A key of weight 2 has two turns where others have one. */
  readonly weight: number;
};

type InQueue = { readonly asker: Asker };

/** By caller, in the order of their turns. What waits is in the order in which it came. */
type KeyQueue<Item> = {
  readonly byClient: Map<string, Set<Item>>;
  size: number;
  turnsLeft: number;
};

/**
 * What waits, in fair order: keys in turn, each as often as its weight, and within a key its callers in turn. Pure: time
 * and upstreams are others' affair.
 */
export class FairQueue<Item extends InQueue> {
  /** By key, in the order of their turns. Nobody is in it who does not wait. */
  readonly #byKey = new Map<string, KeyQueue<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait: of the key, and of the caller. */
  sizesOf({ holder, client }: Asker): { readonly ofKey: number; readonly ofClient: number } {
    const queue = this.#byKey.get(holder);
    return { ofKey: queue?.size ?? 0, ofClient: queue?.byClient.get(client)?.size ?? 0 };
  }

  /** How many others will have had their turn before one more of this asker, at most. */
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

  /** Nobody waits for it any more. */
  remove(item: Item): void {
    const { holder, client } = item.asker;
    const queue = this.#byKey.get(holder);
    const items = queue?.byClient.get(client);
    if (!queue || !items?.delete(item)) return;
    if (items.size === 0) queue.byClient.delete(client);
    this.#taken(holder, queue);
  }

  /** @param may Which keys may have a turn now; the first of them in turn has it. */
  take(may: (holder: string) => boolean): Item | undefined {
    for (const [holder, queue] of this.#byKey) {
      if (!may(holder)) continue;
      const item = nextOf(queue);
      queue.turnsLeft -= 1;
      if (queue.turnsLeft <= 0) {
        this.#byKey.delete(holder); // the last in turn again
        this.#byKey.set(holder, queue);
        queue.turnsLeft = item.asker.weight;
      }
      this.#taken(holder, queue);
      return item;
    }
    return undefined;
  }

  /** The next of one key beside its turns, if it is such a one. */
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

/** Nobody is in the queue who does not wait. */
function firstOf<Item>({ byClient }: KeyQueue<Item>): Item {
  const [items] = byClient.values() as unknown as [Set<Item>];
  const [item] = items as unknown as [Item];
  return item;
}

/** Its caller is the last in turn again. */
function nextOf<Item>({ byClient }: KeyQueue<Item>): Item {
  const [[client, items]] = byClient as unknown as [[string, Set<Item>]];
  const [item] = items as unknown as [Item];
  items.delete(item);
  byClient.delete(client);
  if (items.size > 0) byClient.set(client, items);
  return item;
}
