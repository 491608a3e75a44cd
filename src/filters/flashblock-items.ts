// Reads how far a node's notification about a block in the making has come (Flashblocks), so that a subscription which
// moves on to another node repeats nothing and does not go back. Pure.
import { numberIn } from "../evm/values.ts";

type Members = Readonly<Record<string, unknown>>;

/** A block, and what of it was told: the index of a Flashblock, a log or a transaction. */
export type FlashPosition = { readonly number: number; readonly index: number };

export type FlashItem = {
  /** Equal for notifications of the same thing. */
  readonly name: string | undefined;
  /** undefined where the notification does not tell it. */
  readonly position: FlashPosition | undefined;
};

/** By kind: reads one of its notifications. @param numberOf Finds the block of a payload that an earlier one named. */
const READERS: Readonly<
  Record<string, (item: unknown, numberOf: (payload: string) => number | undefined) => FlashItem>
> = {
  /** A payload of the sequencer (`payload_id`, `index`, `base`, `metadata`), or the block so far, as nodes differ. */
  newFlashblocks: (item, numberOf) => {
    const { payload_id: payload, index, number, transactions, hash } = membersOf(item);
    if (typeof payload !== "string")
      return {
        name: textIn(hash),
        position: positionOf(number, Array.isArray(transactions) ? transactions.length : undefined),
      };
    const told = numberToldIn(item) ?? numberOf(payload);
    return { name: `${payload} ${String(index)}`, position: positionOf(told, index) };
  },
  pendingLogs: (item) => {
    const { blockNumber, transactionHash, logIndex } = membersOf(item);
    return {
      // The hash of the block is another one with each Flashblock.
      name: `${String(blockNumber)} ${String(transactionHash)} ${String(logIndex)}`,
      position: positionOf(blockNumber, logIndex),
    };
  },
  newFlashblockTransactions: (item) => {
    const { hash, blockNumber, transactionIndex } = membersOf(item);
    return {
      name: textIn(item) ?? textIn(hash),
      position: positionOf(blockNumber, transactionIndex),
    };
  },
};

/** After this time without a higher one, a lower position counts: the chain has gone back. In milliseconds. */
const GONE_BACK_AFTER_MS = 10_000;

/** The notifications of one subscription: says which of them repeat others, or go back. */
export class FlashOrder {
  #last: FlashPosition | undefined;
  #lastAtMs = 0;
  #payload: { readonly id: string; readonly number: number } | undefined;
  readonly #read: (typeof READERS)[string];

  /** @returns undefined for a kind that is not about blocks in the making. */
  static ofKind(kind: string): FlashOrder | undefined {
    const read = Object.hasOwn(READERS, kind) ? READERS[kind] : undefined;
    return read && new FlashOrder(read);
  }

  private constructor(read: (typeof READERS)[string]) {
    this.#read = read;
  }

  read(item: unknown): FlashItem {
    return this.#read(item, (payload) =>
      this.#payload?.id === payload ? this.#payload.number : undefined,
    );
  }

  isLower({ position }: FlashItem, nowMs: number): boolean {
    const last = this.#last;
    if (!last || !position || nowMs - this.#lastAtMs >= GONE_BACK_AFTER_MS) return false;
    return (
      position.number < last.number ||
      (position.number === last.number && position.index < last.index)
    );
  }

  /** To be called with each notification that is passed on. */
  told(item: unknown, { position }: FlashItem, nowMs: number): void {
    if (!position) return;
    const { payload_id: id } = membersOf(item);
    if (typeof id === "string") this.#payload = { id, number: position.number };
    this.#last = position;
    this.#lastAtMs = nowMs;
  }
}

/** The block's number in a payload: the first one has `base`, and most have `metadata`. */
function numberToldIn(item: unknown): unknown {
  const { base, metadata } = membersOf(item);
  return membersOf(metadata)["block_number"] ?? membersOf(base)["block_number"];
}

function positionOf(number: unknown, index: unknown): FlashPosition | undefined {
  const [block, within] = [wholeNumberIn(number), wholeNumberIn(index)];
  return block === undefined || within === undefined ? undefined : { number: block, index: within };
}

/** A number in hex, or in decimal as the sequencer writes it. */
const wholeNumberIn = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) ? (value as number) : numberIn(value);

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null ? (value as Members) : {};

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
