// One block of the store, and the answers that are put together from its parts.

import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import {
  aroundTransactions,
  blockWithHashes,
  itemOf,
  itemsOf,
  type Outline,
  PIECE_ITEMS,
  type Position,
  type ProofLevel,
  transactionHashesIn,
} from "./block-record.ts";
import type { BlockTables, StoredPart } from "./block-tables.ts";

type Parts = Pick<BlockTables, "part">;
type Around = { readonly before: Buffer; readonly behind: Buffer };

/**
 * Answers are JSON as the node gave it. To be used in the turn in which it was found: later, the
 * block may have left the store.
 */
export class StoredBlock implements Position {
  /** As lower-case hex. */
  readonly hash: string;
  readonly outline: Outline;
  readonly #store: Parts;

  constructor({ hash, outline }: { hash: string; outline: Outline }, parts: { store: Parts }) {
    this.hash = hash;
    this.outline = outline;
    this.#store = parts.store;
  }

  get number(): number {
    return this.outline.number;
  }

  get proof(): ProofLevel {
    return this.outline.proof;
  }

  withHashes(): Buffer {
    return Buffer.from(blockWithHashes(this.#part("block")));
  }

  withTransactions(): Buffer {
    return this.#join("transactions", this.outline.transactionBytes, this.#aroundTransactions());
  }

  /** In order; on epoch networks those of the epoch's blocks. */
  transactionHashes(): string[] {
    return transactionHashesIn(this.#part("block"));
  }

  /** As `withTransactions`; of many, made while it is sent. */
  withTransactionsToSend(): AnswerJson {
    const { transactionBytes } = this.outline;
    if (transactionBytes <= WORTH_HOLDING) return this.withTransactions();
    return this.#source("transactions", transactionBytes, this.#aroundTransactions());
  }

  /** As `receipts`; of many, made while it is sent. */
  receiptsToSend(): AnswerJson {
    const { receiptBytes } = this.outline;
    if (receiptBytes <= WORTH_HOLDING) return this.receipts();
    return this.#source("receipts", receiptBytes, NOTHING_AROUND);
  }

  receipts(): Buffer {
    return this.#join("receipts", this.outline.receiptBytes, NOTHING_AROUND);
  }

  /** undefined when the block has no transaction at this index. */
  transaction(index: number): Buffer | undefined {
    return this.#item("transactions", index);
  }

  receipt(index: number): Buffer | undefined {
    return this.#item("receipts", index);
  }

  /** The JSON array of the uncles' headers; undefined when the node did not give them. */
  uncles(): Buffer | undefined {
    return this.outline.hasUncles ? Buffer.from(this.#part("uncles")) : undefined;
  }

  #aroundTransactions(): Around {
    const { before, behind } = aroundTransactions(this.#part("block"));
    return { before: Buffer.from(before), behind: Buffer.from(behind) };
  }

  #item(part: "transactions" | "receipts", index: number): Buffer | undefined {
    if (index >= this.outline.transactions) return undefined;
    const piece = this.#part(part, Math.floor(index / PIECE_ITEMS));
    return Buffer.from(itemOf(piece, index % PIECE_ITEMS));
  }

  /** All items as one array, in one buffer. @param bytes Of the items with the commas between them. */
  #join(part: "transactions" | "receipts", bytes: number, { before, behind }: Around): Buffer {
    const joined = Buffer.allocUnsafe(before.length + 1 + bytes + 1 + behind.length);
    let at = before.copy(joined);
    at += joined.write("[", at);
    const pieces = Math.ceil(this.outline.transactions / PIECE_ITEMS);
    for (let piece = 0; piece < pieces; piece += 1) {
      if (piece > 0) at += joined.write(",", at);
      at += itemsOf(this.#part(part, piece)).copy(joined, at);
    }
    at += joined.write("]", at);
    behind.copy(joined, at);
    return joined;
  }

  /** What `#join` makes, piece by piece. The block may leave the store before it is read to its end: then reading throws. */
  #source(part: "transactions" | "receipts", bytes: number, around: Around): AnswerJson {
    const { before, behind } = around;
    const pieces = Math.ceil(this.outline.transactions / PIECE_ITEMS);
    const read = (piece: number): Buffer => Buffer.from(itemsOf(this.#part(part, piece)));
    return {
      length: before.length + 1 + bytes + 1 + behind.length,
      heldBytes: before.length + behind.length,
      *chunks() {
        yield before;
        for (let piece = 0; piece < pieces; piece += 1) {
          yield piece === 0 ? OPEN : COMMA;
          yield read(piece);
        }
        yield CLOSE;
        yield behind;
      },
    };
  }

  #part(part: StoredPart, piece = 0): Buffer {
    const bytes = this.#store.part(this.hash, part, piece);
    if (!bytes) throw new Error(`block ${this.hash} has no ${part} ${piece} in the store`);
    return bytes;
  }
}

/** In bytes: an answer up to this long is put together at once. */
const WORTH_HOLDING = 262_144;
const OPEN = Buffer.from("[");
const COMMA = Buffer.from(",");
const CLOSE = Buffer.from("]");
const NOTHING_AROUND = { before: Buffer.alloc(0), behind: Buffer.alloc(0) };
