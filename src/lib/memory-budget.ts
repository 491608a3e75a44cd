// Counts the bytes that wait in this process, by kind and by key. The more wait, the less is begun: large work is
// refused first, so that cheap work is refused last; and a key for which many bytes wait is refused before other keys.

/**
 * `bodies` of requests; `arriving`: replies of nodes as they come; `building`: answers that are being made, or wait for
 * their turn in a batch; `unsent`: answers that callers have not taken.
 */
export const memoryKinds = ["bodies", "arriving", "building", "unsent"] as const;
export type MemoryKind = (typeof memoryKinds)[number];

/** What is refused: a request before its body is read, a call, a batch, or the rest of a node's reply. */
export type MemoryRefusal = "requests" | "calls" | "batches" | "answers";

/** `key`: too many bytes wait for the caller's own key; `all`: too many bytes wait for all keys together. */
export type MemoryRefusalCause = "key" | "all";

export type MemoryBudgetParts = {
  /** Called for each refusal. */
  readonly onRefused: (
    what: MemoryRefusal,
    why: MemoryRefusalCause,
    holder: MemoryHolder | undefined,
  ) => void;
};

/** A key for which bytes wait. Only the budget writes it, so that sums need no search. */
export type MemoryHolder = {
  /** The name of the key. */
  readonly name: string;
  /** As in `Asker`. */
  weight: number;
  /** The bytes that wait for the key. */
  bytes: number;
  /** How many of the bytes are beyond the key's share. */
  excessBytes: number;
};

export const memoryHolder = (name: string): MemoryHolder => ({
  name,
  weight: 1,
  bytes: 0,
  excessBytes: 0,
});

/** The part of the budget above which a call of so many compute units is not begun. */
const CALLS: readonly { readonly below: number; readonly room: number }[] = [
  { below: 4, room: 1 }, // computed here, or a small read of the store
  { below: 10, room: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, room: 3 / 16 }, // logs, receipts of blocks, traces
];
const forCall = (computeUnits: number): number =>
  CALLS.find(({ below }) => computeUnits < below)?.room ?? 0;

/** Batches get less room: their callers can send the calls one by one. */
const IN_BATCH = 1 / 3;

/** Parts of the budget: above each of them some work is no longer begun. */
const rooms = {
  any: 1,
  forCall,
  forBatch: (computeUnits: number): number => forCall(computeUnits) * IN_BATCH,
  /** Above it the rest of a large reply of a node is not read, since more waits than was meant to. */
  largeAnswer: 3 / 32,
  /** Above it a batch has one call under way. */
  calm: 1 / 16,
  /** The bytes of a key count against other keys up to a share of this: half of it for a key of weight 1. */
  againstOthers: 1 / 24,
  /** Above it nothing is begun for one key. */
  ofOneKey: 3 / 4,
  /** Above it only cheap work is begun. */
  inAll: 7 / 8,
} as const;

/** In bytes: a key with less is in nobody's way, however small the budget. */
const LARGE = 65_536;

export class MemoryBudget {
  #bytes: number;
  #waiting = 0;
  /** How many of the bytes wait for keys, and how many of these are beyond the keys' shares. */
  #ofKeys = 0;
  #excess = 0;
  #keysOverShare = 0;
  /** The keys whose excess changes with the budget. */
  readonly #large = new Set<MemoryHolder>();
  #ofNodes = 0;
  readonly #byKind: Record<MemoryKind, number> = { bodies: 0, arriving: 0, building: 0, unsent: 0 };
  readonly #onRefused: MemoryBudgetParts["onRefused"];

  /** @param options.bytes How many bytes may wait. */
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

  /** The bytes that wait for keys, for callers without a key, and for the gateway itself, which follows chains. */
  get waitingFor(): Readonly<Record<"keys" | "strangers" | "gateway", number>> {
    const [keys, gateway] = [this.#ofKeys, this.#ofNodes];
    return { keys, gateway, strangers: this.#waiting - keys - gateway };
  }

  /** How many keys have more bytes than count against others. */
  get keysOverShare(): number {
    return this.#keysOverShare;
  }

  /** @param holder The key; undefined for a caller without a key, and for the gateway itself. */
  hold(kind: MemoryKind, bytes: number, holder?: MemoryHolder): void {
    this.#waiting += bytes;
    this.#byKind[kind] += bytes;
    if (holder) this.#holdFor(holder, bytes);
    else if (kind === "arriving") this.#ofNodes += bytes;
  }

  /** @param holder The same as in `hold`. */
  release(kind: MemoryKind, bytes: number, holder?: MemoryHolder): void {
    this.hold(kind, -bytes, holder);
  }

  /** @returns Whether any work may be begun; a refusal is counted. */
  admitRequest(holder?: MemoryHolder): boolean {
    return this.#admit(rooms.any, "requests", holder);
  }

  /** @returns Whether a lone call may be begun; a refusal is counted. */
  admitCall(computeUnits: number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admit(rooms.forCall(computeUnits), "calls", holder);
  }

  /**
   * @param computeUnits Gives the price of the dearest member; called only when the answer depends on it.
   * @returns Whether a batch may be begun; a refusal is counted. The members of a batch that was begun wait for their turn.
   */
  admitBatch(computeUnits: () => number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admit(rooms.forBatch(computeUnits()), "batches", holder);
  }

  /** @returns Whether the rest of a node's large reply is read; a refusal is counted. */
  admitLargeAnswer(holder?: MemoryHolder): boolean {
    return this.#admit(rooms.largeAnswer, "answers", holder);
  }

  /** The key may begin all that it wants. */
  isCalmFor(holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#hasRoom(rooms.calm, holder);
  }

  /** All keys may begin all that they want. */
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

  #admit(room: number, what: MemoryRefusal, holder: MemoryHolder | undefined): boolean {
    if (this.#hasRoom(room, holder)) return true;
    const isOwn = holder !== undefined && this.#hasRoom(room, holder, holder.bytes);
    this.#onRefused(what, isOwn ? "key" : "all", holder);
    return false;
  }

  /** @param less Asks what would be if so many bytes less waited for the key. */
  #hasRoom(room: number, holder: MemoryHolder | undefined, less = 0): boolean {
    if (!holder) return this.#waiting <= this.#bytes * room;
    // All bytes of this key count, and those of each other key up to that key's share.
    const counted = this.#waiting - (this.#excess - holder.excessBytes) - less;
    return (
      counted <= this.#bytes * room &&
      holder.bytes - less <= this.#bytes * rooms.ofOneKey &&
      this.#waiting <= this.#bytes * Math.max(room, rooms.inAll)
    );
  }
}

/** How many bytes of a key count against others: half of the room for a key of weight 1. */
const shareOf = ({ weight }: MemoryHolder, room: number): number =>
  Math.floor((room * weight) / (weight + 1));

const MOST = 2 ** 30;
const OF_THE_MACHINE = 1 / 4;

/**
 * How many bytes may wait where nothing is configured.
 *
 * @param memory.constrained The bytes that the process may use; 0, or more than the machine has: all.
 */
export function defaultBudget(memory: {
  readonly total: number;
  readonly constrained: number;
}): number {
  const { total, constrained } = memory;
  const usable = constrained > 0 ? Math.min(total, constrained) : total;
  return Math.min(MOST, Math.floor(usable * OF_THE_MACHINE));
}
