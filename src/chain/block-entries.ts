// What one block leaves in the tables of the store, and how that is taken out again: inside a
// transaction of the store.
import {
  type BlockRecord,
  encodeOutline,
  PIECE_ITEMS,
  transactionHashesIn,
} from "./block-record.ts";
import type { BlockTables } from "./block-tables.ts";
import { encodeDirectory } from "./log-directory.ts";
import { placesByTerm } from "./log-places.ts";
import { plain } from "./packing.ts";
import { addPlaces } from "./postings.ts";
import {
  hashKey,
  numberKey,
  type Part,
  type Position,
  partKey,
  positionBytes,
} from "./store-keys.ts";

/** Behind every key that begins with a hash. */
const LAST = Buffer.alloc(8, 0xff);

export class BlockEntries {
  readonly #tables: BlockTables;

  constructor(tables: BlockTables) {
    this.#tables = tables;
  }

  /** @param pack How they are written. */
  putParts(record: BlockRecord, pack: (bytes: Buffer) => Buffer = plain): void {
    const { hash } = record;
    const put = (part: Part, bytes: Buffer, piece = 0): void => {
      this.#tables.parts.putSync(partKey(hash, part, piece), pack(bytes));
    };
    put("outline", encodeOutline(record.outline));
    put("block", record.block);
    for (const [piece, bytes] of record.transactionPieces.entries())
      put("transactions", bytes, piece);
    for (const [piece, bytes] of record.receiptPieces.entries()) put("receipts", bytes, piece);
    put("logs", encodeDirectory(record.logs));
    if (record.uncles) put("uncles", record.uncles);
  }

  /** It is the block at its number; its transactions are found. */
  makeCanonical({ hash, outline, transactionHashes }: BlockRecord): void {
    this.#tables.canonical.putSync(numberKey(outline.number), Buffer.from(hashKey(hash)));
    transactionHashes.forEach((transaction, index) => {
      const place = Buffer.allocUnsafe(8);
      place.writeUInt32BE(outline.number, 0);
      place.writeUInt32BE(index, 4);
      this.#tables.transactions.putSync(hashKey(transaction), place);
    });
  }

  indexLogs(records: readonly BlockRecord[]): void {
    for (const { key, places } of placesByTerm(records)) {
      this.#tables.terms.putSync(key, addPlaces(this.#tables.terms.getBinary(key), places));
    }
  }

  /** The block is no longer canonical; its parts stay, for those who were told of it. */
  drop(number: number): void {
    const hash = this.#tables.hashAt(number);
    if (!hash) return;
    this.#forgetTransactions(number, hash);
    this.#tables.canonical.removeSync(numberKey(number));
    this.#tables.dropped.putSync(positionBytes({ number, hash }), Buffer.alloc(0));
  }

  #forgetTransactions(number: number, hash: string): void {
    const block = this.#tables.part(hash, "block");
    for (const transaction of block ? transactionHashesIn(block) : []) {
      if (this.#tables.transactionPlace(transaction)?.number === number)
        this.#tables.transactions.removeSync(hashKey(transaction));
    }
  }

  /** Nothing of it stays, canonical or not. */
  erase({ number, hash }: Position): void {
    if (this.#tables.hashAt(number) === hash) {
      this.#forgetTransactions(number, hash);
      this.#tables.canonical.removeSync(numberKey(number));
    }
    this.#eraseTraces(hash);
    const outline = this.#tables.outline(hash);
    if (!outline) return;
    const pieces = Math.ceil(outline.transactions / PIECE_ITEMS);
    for (let piece = 0; piece < pieces; piece += 1) {
      this.#tables.parts.removeSync(partKey(hash, "transactions", piece));
      this.#tables.parts.removeSync(partKey(hash, "receipts", piece));
    }
    for (const part of ["block", "logs", "uncles", "outline"] as const)
      this.#tables.parts.removeSync(partKey(hash, part));
  }

  #eraseTraces(hash: string): void {
    const start = Buffer.from(hashKey(hash));
    const end = Buffer.concat([start, LAST]);
    for (const key of [...this.#tables.traces.getKeys({ start, end })])
      this.#tables.traces.removeSync(key);
  }

  eraseAt(number: number): void {
    const hash = this.#tables.hashAt(number);
    if (hash) this.erase({ number, hash });
  }
}
