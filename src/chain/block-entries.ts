// Writes and removes the entries of one block in the tables of the store. All of this runs inside a transaction of the
// store.

import { atOnce, eachInSteps, type Work } from "../lib/turns.ts";
import { type BlockRecord, HASH_BYTES, isHugeToErase } from "./block-record.ts";
import {
  asTheyAre,
  type BlockTables,
  hashKey,
  numberKey,
  type PartEncoding,
  packed,
  partKey,
  positionBytes,
  type Table,
  termKey,
} from "./block-tables.ts";
import { addPositions, eachTerm, SEGMENT_BLOCKS, segmentOf } from "./log-index.ts";
import {
  eachTransactionHash,
  encodeOutline,
  lowerLevel,
  type Outline,
  type Position,
  type StoredPart,
  transactionHashesIn,
} from "./stored-block.ts";

/** A suffix that sorts after every key that begins with the same hash. */
const LAST = Buffer.alloc(8, 0xff);
/** How many entries are written or removed between two pauses. */
const STEP = 64;
/** How many pieces are compressed between two pauses: some 50 µs each. */
const PACKED_AT_ONCE = 8;

export class BlockEntries {
  readonly #tables: BlockTables;

  constructor(tables: BlockTables) {
    this.#tables = tables;
  }

  /**
   * Writes the parts of a block that the store lacks. A stored part stays as it is: callers may be reading it by the
   * outline. A block that is stored without its receipts gets them.
   */
  putParts(record: BlockRecord, pack: PartEncoding = asTheyAre): void {
    atOnce(this.#putPieces(record, pack));
    this.#putOutline(record, pack);
  }

  /** Whether the store has all parts that this record has. */
  hasAllOf({ hash, outline: { hasReceipts } }: BlockRecord): boolean {
    const there = this.#tables.outline(hash);
    return there !== undefined && (there.hasReceipts || !hasReceipts);
  }

  /** Makes the block canonical at its number, and its transactions findable. */
  makeCanonical(record: BlockRecord): void {
    this.#takePlaceOf(record);
    atOnce(this.#putTransactions(record));
    this.#nameCanonical(record);
  }

  indexLogs(records: readonly BlockRecord[]): void {
    atOnce(this.indexTerms(collectTerms(new Map(), records)));
  }

  /** Writes the log index, with pauses. Entries that are neighbours in the table are written together. */
  *indexTerms(found: TermPositions): Work<void> {
    const { terms } = this.#tables;
    for (const [segment, positionsByTerm] of found) {
      const sorted = Uint32Array.from(positionsByTerm.keys()).sort();
      yield* eachInSteps(sorted, (term) => {
        const there = this.#tables.postings(segment, term);
        const added = positionsByTerm.get(term | 0) ?? [];
        terms.putSync(termKey(segment, term), addPositions(there, added));
      });
    }
  }

  /**
   * Writes the parts that no reader finds before `finish` writes the outline and makes the block canonical. So a huge
   * block can be written in many transactions. Pauses after some entries.
   */
  *stage(record: BlockRecord): Work<void> {
    yield* this.#putPieces(record, asTheyAre);
    yield* this.#putTransactions(record);
    yield* this.indexTerms(collectTerms(new Map(), [record]));
  }

  /** Writes the rest of a block that was staged. */
  finish(record: BlockRecord): void {
    this.#putOutline(record, asTheyAre);
    this.#nameCanonical(record);
  }

  *#putPieces(record: BlockRecord, pack: PartEncoding): Work<void> {
    if (this.hasAllOf(record)) return;
    const { hash, transactionPieces, receiptPieces } = record;
    const { parts } = this.#tables;
    const isThere = this.#tables.outline(hash) !== undefined;
    yield* eachInSteps(isThere ? [] : transactionPieces, (bytes, piece) =>
      parts.putSync(partKey(hash, "transactions", piece), pack("transactions", bytes)),
    );
    yield* eachInSteps(receiptPieces, (bytes, piece) =>
      parts.putSync(partKey(hash, "receipts", piece), pack("receipts", bytes)),
    );
  }

  #putOutline(record: BlockRecord, pack: PartEncoding): void {
    if (this.hasAllOf(record)) return;
    const { hash } = record;
    const there = this.#tables.outline(hash);
    const put = (part: StoredPart, bytes: Buffer): void => {
      this.#tables.parts.putSync(partKey(hash, part), pack(part, bytes));
    };
    put("outline", encodeOutline(there ? withReceipts(there, record.outline) : record.outline));
    put("logs", record.logs);
    if (!there) {
      put("block", record.block);
      if (record.uncles) put("uncles", record.uncles);
    } else this.#tables.forgetRead();
  }

  /**
   * Compresses the parts of a stored block, with pauses. The block may be erased meanwhile. The part that `isPacked`
   * looks at is compressed last.
   */
  *pack(hash: string): Work<void> {
    const outline = this.#tables.outline(hash);
    for (const [index, [part, piece]] of (outline ? piecesIn(outline) : []).entries()) {
      if (index % PACKED_AT_ONCE === PACKED_AT_ONCE - 1) yield;
      this.#packPart(hash, part, piece);
    }
    this.#packPart(hash, "uncles");
    this.#packPart(hash, "block");
  }

  #packPart(hash: string, part: StoredPart, piece = 0): void {
    const bytes = this.#tables.part(hash, part, piece);
    if (bytes) this.#tables.parts.putSync(partKey(hash, part, piece), packed(part, bytes));
  }

  *#putTransactions({ outline, transactionHashes }: BlockRecord): Work<void> {
    for (let index = 0; index * HASH_BYTES < transactionHashes.length; index += 1) {
      if (index % STEP === STEP - 1) yield;
      const position = Buffer.allocUnsafe(8);
      position.writeUInt32BE(outline.number, 0);
      position.writeUInt32BE(index, 4);
      const start = index * HASH_BYTES;
      const hash = transactionHashes.subarray(start, start + HASH_BYTES);
      this.#tables.transactions.putSync(hash, position);
    }
  }

  /** Hides the transactions of an old block that a node gave for this number before: it may not be of this chain. */
  #takePlaceOf({ hash, outline: { number } }: BlockRecord): void {
    const there = this.#tables.hashAt(number);
    if (there === undefined || there === hash) return;
    this.#tables.forgetRead();
    atOnce(this.#forgetTransactions(number, there));
  }

  #nameCanonical({ hash, outline }: BlockRecord): void {
    this.#tables.canonical.putSync(numberKey(outline.number), Buffer.from(hashKey(hash)));
  }

  /** Makes the block no longer canonical. Its parts stay for callers that know its hash. */
  drop(number: number): void {
    const hash = this.#tables.hashAt(number);
    if (!hash) return;
    atOnce(this.#forgetTransactions(number, hash));
    this.#tables.canonical.removeSync(numberKey(number));
    this.#tables.dropped.putSync(positionBytes({ number, hash }), Buffer.alloc(0));
  }

  *#forgetTransactions(number: number, hash: string): Work<void> {
    const block = this.#tables.part(hash, "block");
    let looked = 0;
    for (const transaction of block ? eachTransactionHash(Buffer.from(block)) : []) {
      if (this.#tables.transactionPosition(transaction)?.number === number)
        this.#tables.transactions.removeSync(hashKey(transaction));
      looked += 1;
      if (looked % STEP === 0) yield;
    }
  }

  /**
   * Erases a block, canonical or not. Of a huge block this erases only the entries that make it visible; `eraseHuge`
   * erases the rest.
   */
  erase({ number, hash }: Position): void {
    const outline = this.#tables.outline(hash);
    const isCanonical = this.#tables.hashAt(number) === hash;
    if (outline) this.#tables.forgetRead();
    if (isCanonical) this.#tables.canonical.removeSync(numberKey(number));
    if (outline && isHugeToErase(outline)) {
      this.#tables.parts.removeSync(partKey(hash, "outline"));
      this.#tables.putErasing({ number, hash }, isCanonical);
      return;
    }
    if (isCanonical) atOnce(this.#forgetTransactions(number, hash));
    atOnce(eraseRange(this.#tables.traces, rangeOf(hash)));
    if (outline) atOnce(eraseRange(this.#tables.parts, rangeOf(hash)));
  }

  /**
   * Erases the rest of a huge block, with pauses, in many transactions. After a crash the work starts over, so the part
   * that lists the block's transactions is erased last.
   */
  *eraseHuge({ number, hash }: Position, wasCanonical: boolean): Work<void> {
    const { parts, traces } = this.#tables;
    if (wasCanonical) yield* this.#forgetTransactions(number, hash);
    const range = rangeOf(hash);
    const behindBlock = Buffer.from(partKey(hash, "block", LAST_PIECE));
    yield* eraseRange(traces, range);
    yield* eraseRange(parts, { ...range, start: behindBlock });
    yield* eraseRange(parts, range);
    this.#tables.forgetRead(); // readers that had the block may have cached parts of it until now
    this.#tables.removeErasing({ number, hash });
  }

  /** Erases a block that has no outline yet. The transactions of the canonical block at its number stay. */
  eraseStaged(hash: string, number: number): void {
    const { parts, transactions } = this.#tables;
    const there = this.#tables.hashAt(number);
    const block = there && this.#tables.part(there, "block");
    const named = new Set(block ? transactionHashesIn(block) : []);
    atOnce(eraseRange(parts, rangeOf(hash)));
    const left: Buffer[] = [];
    for (const { key, value } of transactions.getRange({}))
      if (value.readUInt32BE(0) === number && !named.has(`0x${key.toString("hex")}`))
        left.push(Buffer.from(key));
    for (const key of left) transactions.removeSync(key);
  }

  eraseAt(number: number): void {
    const hash = this.#tables.hashAt(number);
    if (hash) this.erase({ number, hash });
  }
}

/** The outline of a block that is stored without receipts, with the receipts of another record of the same block. */
const withReceipts = (
  there: Outline,
  { receiptBytes, receiptPieces, proof }: Outline,
): Outline => ({
  ...there,
  ...{ hasReceipts: true, receiptBytes, receiptPieces },
  proof: lowerLevel(there.blockProof, proof),
});

const LAST_PIECE = 0xffff;

/** The pieces of both lists of a block. */
const piecesIn = ({ transactionPieces, receiptPieces }: Outline): [StoredPart, number][] => [
  ...Array.from(transactionPieces, (_, piece): [StoredPart, number] => ["transactions", piece]),
  ...Array.from(receiptPieces, (_, piece): [StoredPart, number] => ["receipts", piece]),
];

/** The range of the keys that begin with a block's hash. */
function rangeOf(hash: string): { readonly start: Buffer; readonly end: Buffer } {
  const start = Buffer.from(hashKey(hash));
  return { start, end: Buffer.concat([start, LAST]) };
}

function* eraseRange(table: Table, range: ReturnType<typeof rangeOf>): Work<void> {
  for (;;) {
    const keys = [...table.getKeys({ ...range, limit: STEP })];
    for (const key of keys) table.removeSync(key);
    if (keys.length < STEP) return;
    yield;
  }
}

/** Segment → term → positions of blocks. A term is a signed number: V8 would make objects of most unsigned terms. */
export type TermPositions = Map<number, Map<number, number[]>>;

/** Adds the terms of the blocks' logs to `found`. */
export function collectTerms(found: TermPositions, records: readonly BlockRecord[]): TermPositions {
  for (const { outline, logs } of records) {
    const segment = segmentOf(outline.number);
    const ofSegment = found.get(segment) ?? new Map<number, number[]>();
    found.set(segment, ofSegment);
    const position = outline.number % SEGMENT_BLOCKS;
    eachTerm(logs, (term) => {
      const positions = ofSegment.get(term | 0);
      if (!positions) ofSegment.set(term | 0, [position]);
      else if (positions[positions.length - 1] !== position) positions.push(position);
    });
  }
  return found;
}
