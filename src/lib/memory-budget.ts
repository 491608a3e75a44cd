// Counts the bytes that wait in this process, by kind and by key. As the bytes grow, the gateway refuses large work
// first and cheap work last, and a key for which many bytes wait before other keys.

/**
 * `bodies`: bodies of requests; `arriving`: replies of upstreams as they come; `building`: answers that the gateway
 * makes, or that wait for their turn in a batch; `unsent`: answers and notifications that callers have not taken.
 */
export const memoryKinds = ["bodies", "arriving", "building", "unsent"] as const;
export type MemoryKind = (typeof memoryKinds)[number];

/** The gateway refuses a request before it reads the body, a call, a batch, or the rest of an upstream's reply. */
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

/** A key for which bytes wait. Only the budget writes `bytes` and `excessBytes`, so that it knows their sums. */
export type MemoryHolder = {
  /** The name of the key. */
  readonly name: string;
  /** The key's weight, as in `Asker`. */
  weight: number;
  /** The bytes that wait for the key. */
  bytes: number;
  /** The bytes beyond the key's share. */
  excessBytes: number;
};

export const memoryHolder = (name: string): MemoryHolder => ({
  name,
  weight: 1,
  bytes: 0,
  excessBytes: 0,
});

/** A call below `below` compute units (first match) begins while at most the part `room` of the budget waits. */
const CALLS: readonly { readonly below: number; readonly room: number }[] = [
  { below: 4, room: 1 }, // calls that the gateway computes, and small reads of the store
  { below: 10, room: 1 / 2 },
  { below: Number.POSITIVE_INFINITY, room: 3 / 16 }, // logs, receipts of blocks, traces
];
const forCall = (computeUnits: number): number =>
  CALLS.find(({ below }) => computeUnits < below)?.room ?? 0;

/** Batches get less room: their callers can send the calls one by one. */
const IN_BATCH = 1 / 3;

/** Parts of the budget: while more bytes wait than a part, the gateway begins no more work of that kind. */
const rooms = {
  any: 1,
  forCall,
  forBatch: (computeUnits: number): number => forCall(computeUnits) * IN_BATCH,
  /** Above this part the gateway makes no notifications. */
  forPush: forCall(Number.MAX_VALUE),
  /** Above this part the gateway does not read the rest of an upstream's large reply. */
  largeAnswer: 3 / 32,
  /** Above this part a batch has one call under way at a time. */
  calm: 1 / 16,
  /** The bytes of a key count against other keys up to a share of this part: half of it for a key of weight 1. */
  againstOthers: 1 / 24,
  /** While more than this part waits for one key, the gateway begins nothing for that key. */
  ofOneKey: 3 / 4,
  /** Above this part the gateway begins only cheap work. */
  inAll: 7 / 8,
} as const;

/** In bytes. A key with less disturbs no other key, however small the budget is. */
const LARGE = 65_536;

export class MemoryBudget {
  #bytes: number;
  #waiting = 0;
  /** The bytes that wait for keys (`#ofKeys`), and the bytes beyond the keys' shares (`#excess`). */
  #ofKeys = 0;
  #excess = 0;
  #keysOverShare = 0;
  /** The keys with more than `LARGE` bytes: their excess changes with the budget. */
  readonly #large = new Set<MemoryHolder>();
  #ofNodes = 0;
  readonly #byKind: Record<MemoryKind, number> = { bodies: 0, arriving: 0, building: 0, unsent: 0 };
  readonly #onRefused: MemoryBudgetParts["onRefused"];

  /** @param options.bytes The most bytes that may wait. */
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

  /** The number of keys whose bytes exceed their share. */
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

  /** @returns Whether the gateway may begin any work. A false result was told to `onRefused`, as in all `admit…`. */
  admitRequest(holder?: MemoryHolder): boolean {
    return this.#admit(rooms.any, "requests", holder);
  }

  /** @returns Whether a call outside of a batch may begin. */
  admitCall(computeUnits: number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admit(rooms.forCall(computeUnits), "calls", holder);
  }

  /**
   * @param computeUnits Gives the price of the dearest member; called only when the result depends on that price.
   * @returns Whether a batch may begin. The members of an admitted batch wait for their turn.
   */
  admitBatch(computeUnits: () => number, holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#admit(rooms.forBatch(computeUnits()), "batches", holder);
  }

  /** @returns Whether the gateway may read the rest of an upstream's large reply. */
  admitLargeAnswer(holder?: MemoryHolder): boolean {
    return this.#admit(rooms.largeAnswer, "answers", holder);
  }

  /** Whether notifications may be made for the key. The answer is asked again and again, so `onRefused` is not told. */
  mayPush(holder: MemoryHolder): boolean {
    return this.#isCalm || this.#hasRoom(rooms.forPush, holder);
  }

  /** Whether the key may begin work without restraint. */
  isCalmFor(holder?: MemoryHolder): boolean {
    return this.#isCalm || this.#hasRoom(rooms.calm, holder);
  }

  /** Whether all keys may begin work without restraint. */
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

  /** @param less Subtracts this number of bytes from the bytes that wait for the key. */
  #hasRoom(room: number, holder: MemoryHolder | undefined, less = 0): boolean {
    if (!holder) return this.#waiting <= this.#bytes * room;
    // All bytes of this key count, and the bytes of each other key up to that key's share.
    const counted = this.#waiting - (this.#excess - holder.excessBytes) - less;
    return (
      counted <= this.#bytes * room &&
      holder.bytes - less <= this.#bytes * rooms.ofOneKey &&
      this.#waiting <= this.#bytes * Math.max(room, rooms.inAll)
    );
  }
}

/** The bytes of a key that count against other keys: half of the room for a key of weight 1. */
const shareOf = ({ weight }: MemoryHolder, room: number): number =>
  Math.floor((room * weight) / (weight + 1));

const MOST = 2 ** 30;
const OF_THE_MACHINE = 1 / 4;

/**
 * The most bytes that may wait where the configuration says nothing: a quarter of the usable memory, at most 1 GiB.
 *
 * @param memory.constrained The bytes that the process may use. 0, or more than `total`, means no limit.
 */
export function defaultBudget(memory: {
  readonly total: number;
  readonly constrained: number;
}): number {
  const { total, constrained } = memory;
  const usable = constrained > 0 ? Math.min(total, constrained) : total;
  return Math.min(MOST, Math.floor(usable * OF_THE_MACHINE));
}
