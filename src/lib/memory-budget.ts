// The bytes that wait in this process, counted by what they wait for. While they are many, less is begun:
// large work is refused first, so that what is cheap to keep is kept to the end; and a key for which much
// waits is refused before others are.

/**
 * `bodies` of requests; `arriving`: answers of nodes as they come; `building`: answers that are put
 * together, or wait for their turn in a batch; `unsent`: answers that their callers have not taken.
 */
export const memoryKinds = ["bodies", "arriving", "building", "unsent"] as const;
export type MemoryKind = (typeof memoryKinds)[number];

/** What was turned away: requests before their bodies were read, calls and batches, and answers on their way from nodes. */
export type MemoryRefusal = "requests" | "calls" | "batches" | "answers";

/** `key`: what waits for the caller's key itself; `all`: what waits for all together. */
export type MemoryRefusalCause = "key" | "all";

export type MemoryBudgetParts = {
  /** Called for each refusal. */
  readonly onRefused: (
    what: MemoryRefusal,
    why: MemoryRefusalCause,
    holder: MemoryHolder | undefined,
  ) => void;
};

/** One key, on whose behalf bytes wait. The budget alone writes it, so that the sum is known without a search. */
export type MemoryHolder = {
  /** Of the key. */
  readonly name: string;
  /** As in `Asker`. */
  weight: number;
  /** What waits. */
  bytes: number;
  /** So much of it is beyond the key's share. */
  excessBytes: number;
};

export const memoryHolder = (name: string): MemoryHolder => ({
  name,
  weight: 1,
  bytes: 0,
  excessBytes: 0,
});

/** Above which a call of so many compute units is not begun. */
const CALLS: readonly { readonly below: number; readonly room: number }[] = [
  { below: 4, room: 1 }, // computed here, or one small thing of the store
  { below: 10, room: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, room: 3 / 16 }, // logs, receipts of blocks, traces
];
const forCall = (computeUnits: number): number =>
  CALLS.find(({ below }) => computeUnits < below)?.room ?? 0;

/** A caller who asks for many things at once can ask for them one by one. */
const IN_BATCH = 1 / 3;

/** Parts of the budget: how much may wait before what is no longer begun. */
const rooms = {
  any: 1,
  forCall,
  forBatch: (computeUnits: number): number => forCall(computeUnits) * IN_BATCH,
  /** Above it answers of nodes that turn out to be large are not read on: more waits then than was to be begun. */
  largeAnswer: 3 / 32,
  /** Above it a batch has one call under way. */
  calm: 1 / 16,
  /** What keys share of each other's room: of it a key of weight 1 may take a half, however much waits for it. */
  againstOthers: 1 / 24,
  /** Above it nothing is begun for one key. */
  ofOneKey: 3 / 4,
  /** Above it nothing but cheap work is begun for any. */
  inAll: 7 / 8,
} as const;

/** In bytes: less of one key is in nobody's way, however small the budget. */
const LARGE = 65_536;

export class MemoryBudget {
  #bytes: number;
  #waiting = 0;
  /** Of it, on behalf of keys; and beyond their shares. */
  #ofKeys = 0;
  #excess = 0;
  #keysOverShare = 0;
  /** Those whose excess may change with the budget. */
  readonly #large = new Set<MemoryHolder>();
  #ofNodes = 0;
  readonly #byKind: Record<MemoryKind, number> = { bodies: 0, arriving: 0, building: 0, unsent: 0 };
  readonly #onRefused: MemoryBudgetParts["onRefused"];

  /** @param options.bytes What may wait in all. */
  constructor({ bytes }: { readonly bytes: number }, parts: MemoryBudgetParts) {
    this.#bytes = bytes;
    this.#onRefused = parts.onRefused;
  }

  resize({ bytes }: { readonly bytes: number }): void {
    this.#bytes = bytes;
    for (const holder of this.#large) this.#countExcess(holder);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get waiting(): number {
    return this.#waiting;
  }

  waitingAs(kind: MemoryKind): number {
    return this.#byKind[kind];
  }

  /** For whom it waits: keys, callers without one, and the gateway, which follows chains. */
  get waitingFor(): Readonly<Record<"keys" | "strangers" | "gateway", number>> {
    const [keys, gateway] = [this.#ofKeys, this.#ofNodes];
    return { keys, gateway, strangers: this.#waiting - keys - gateway };
  }

  /** Of how many keys more waits than counts against others. */
  get keysOverShare(): number {
    return this.#keysOverShare;
  }

  /** @param holder The key; undefined: a caller without one, or nobody but the gateway. */
  hold(kind: MemoryKind, bytes: number, holder?: MemoryHolder): void {
    this.#waiting += bytes;
    this.#byKind[kind] += bytes;
    if (holder) this.#holdFor(holder, bytes);
    else if (kind === "arriving") this.#ofNodes += bytes;
  }

  /** @param holder As it was held. */
  release(kind: MemoryKind, bytes: number, holder?: MemoryHolder): void {
    this.hold(kind, -bytes, holder);
  }

  /** Whether anything may be begun. Counts the refusal. */
  admitsRequest(holder?: MemoryHolder): boolean {
    return this.#admits(rooms.any, "requests", holder);
  }

  /** Whether a call may be begun that stands alone. Counts the refusal. */
  admitsCall(computeUnits: number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admits(rooms.forCall(computeUnits), "calls", holder);
  }

  /**
   * Whether a batch may be begun. Counts the refusal. The calls of one that was begun wait for their turn.
   *
   * @param computeUnits Of its dearest call: asked for only where it matters.
   */
  admitsBatch(computeUnits: () => number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admits(rooms.forBatch(computeUnits()), "batches", holder);
  }

  /** Whether a large answer of a node is read on. Counts the refusal. */
  admitsLargeAnswer(holder?: MemoryHolder): boolean {
    return this.#admits(rooms.largeAnswer, "answers", holder);
  }

  /** The key need not be careful. */
  isCalmFor(holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#hasRoom(rooms.calm, holder);
  }

  /** Nobody need be. */
  get #isCalm(): boolean {
    return this.#waiting <= this.#bytes * rooms.calm;
  }

  #holdFor(holder: MemoryHolder, bytes: number): void {
    this.#ofKeys += bytes;
    const wasLarge = holder.bytes > LARGE;
    holder.bytes += bytes;
    const isLarge = holder.bytes > LARGE;
    if (isLarge && !wasLarge) this.#large.add(holder);
    else if (wasLarge && !isLarge) this.#large.delete(holder);
    if (isLarge || holder.excessBytes > 0) this.#countExcess(holder);
  }

  #countExcess(holder: MemoryHolder): void {
    const excess = Math.max(0, holder.bytes - shareOf(holder, this.#bytes * rooms.againstOthers));
    if (excess === holder.excessBytes) return;
    this.#excess += excess - holder.excessBytes;
    this.#keysOverShare += Number(excess > 0) - Number(holder.excessBytes > 0);
    holder.excessBytes = excess;
  }

  #admits(room: number, what: MemoryRefusal, holder: MemoryHolder | undefined): boolean {
    if (this.#hasRoom(room, holder)) return true;
    const isOwn = holder !== undefined && this.#hasRoom(room, holder, holder.bytes);
    this.#onRefused(what, isOwn ? "key" : "all", holder);
    return false;
  }

  /** @param less As if so much less waited for the key. */
  #hasRoom(room: number, holder: MemoryHolder | undefined, less = 0): boolean {
    if (!holder) return this.#waiting <= this.#bytes * room;
    // All that waits for the key itself, and of what waits for each other one no more than its share.
    const counted = this.#waiting - (this.#excess - holder.excessBytes) - less;
    return (
      counted <= this.#bytes * room &&
      holder.bytes - less <= this.#bytes * rooms.ofOneKey &&
      this.#waiting <= this.#bytes * Math.max(room, rooms.inAll)
    );
  }
}

/** What counts against others, of the room that all have: a half of it for one of weight 1. */
const shareOf = ({ weight }: MemoryHolder, room: number): number =>
  Math.floor((room * weight) / (weight + 1));

const MOST = 2 ** 30;
const OF_THE_MACHINE = 1 / 4;

/**
 * What may wait where nothing is configured, in bytes.
 *
 * @param memory.constrained What the process may use of the machine's memory; 0 or absurdly large: all.
 */
export function defaultBudget(memory: {
  readonly total: number;
  readonly constrained: number;
}): number {
  const { total, constrained } = memory;
  const usable = constrained > 0 ? Math.min(total, constrained) : total;
  return Math.min(MOST, Math.floor(usable * OF_THE_MACHINE));
}
