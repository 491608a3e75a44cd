// The blocks of one network on disk: an LMDB environment that one process writes (the keeper) and any
// number read. Every change is one transaction, so the store is always at a head that it had.
import { type Database, open, type RootDatabase } from "lmdb";
import {
  type BlockRecord,
  decodeOutline,
  encodeOutline,
  type Outline,
  PIECE_ITEMS,
  transactionHashesIn,
} from "./block-record.ts";
import { KeptSegments } from "./kept-segments.ts";
import { encodeDirectory } from "./log-directory.ts";
import { placesByTerm } from "./log-places.ts";
import { compressed, plain, unpack, viewOf } from "./packing.ts";
import { addPlaces, segmentOf } from "./postings.ts";
import {
  HEAD,
  hashKey,
  noteKey,
  numberKey,
  type Part,
  type Position,
  partKey,
  positionBytes,
  positionIn,
  type SegmentPlace,
  TAIL,
  type TracePlace,
  termKey,
  traceKey,
} from "./store-keys.ts";

export type { Part, Position } from "./store-keys.ts";

/** Raised when what is stored could not be read any more. */
const SCHEMA = 1;

/** What one head move changes. */
export type HeadMove = {
  /** So many of the newest blocks are no longer canonical. */
  readonly removed: number;
  /** What comes in their place, oldest first, linked to what stays and to each other. */
  readonly added: readonly BlockRecord[];
};

export type StoreSize = {
  /** How many of the newest blocks are kept. */
  readonly windowBlocks: number;
  /** What all blocks and their indexes may take on disk, in bytes. */
  readonly bytes: number;
};

export type StoreOptions = StoreSize & {
  readonly path: string;
  /** Another process is the keeper. */
  readonly readOnly?: boolean;
};

/** Behind every key that begins with a hash. */
const LAST = Buffer.alloc(8, 0xff);
/** So many of the last kept blocks stay whatever the budget: somebody is about to read them. */
const KEPT_AT_LEAST = 4;
/** What goes in one transaction at most when old index segments are dropped. */
const DROPPED_AT_ONCE = 4096;

export class BlockStore {
  readonly #root: RootDatabase<Buffer, Buffer>;
  /** The head, the tail, and short texts. */
  readonly #notes: Database<Buffer, Buffer>;
  /** Parts of blocks. */
  readonly #parts: Database<Buffer, Buffer>;
  /** Block number → hash, of the window and of older blocks that were kept. */
  readonly #canonical: Database<Buffer, Buffer>;
  /** Transaction hash → block number and index, of canonical blocks. */
  readonly #transactions: Database<Buffer, Buffer>;
  /** Segment and term → postings. */
  readonly #terms: Database<Buffer, Buffer>;
  /** Number and hash of blocks that a reorganisation dropped: filters tell of them while the window has their number. */
  readonly #dropped: Database<Buffer, Buffer>;
  /** Order of arrival → number and hash, of kept blocks older than the window. */
  readonly #kept: Database<Buffer, Buffer>;
  /** Traces of transactions of blocks that are here. */
  readonly #traces: Database<Buffer, Buffer>;
  /** Logs of old blocks, which are not here themselves: the entries, and the order in which they came. */
  readonly #segments: Database<Buffer, Buffer>;
  readonly #segmentOrder: Database<Buffer, Buffer>;
  readonly #keptSegments: KeptSegments;
  #options: StoreOptions;

  /** @throws When the folder cannot be read or written. */
  constructor(options: StoreOptions) {
    this.#options = options;
    const { path, readOnly = false } = options;
    const binary = { encoding: "binary", keyEncoding: "binary" } as const;
    this.#root = open<Buffer, Buffer>({ path, noSubdir: false, readOnly, maxDbs: 10, ...binary });
    const database = (name: string): Database<Buffer, Buffer> =>
      this.#root.openDB<Buffer, Buffer>({ name, ...binary });
    this.#notes = database("notes");
    this.#parts = database("parts");
    this.#canonical = database("canonical");
    this.#transactions = database("transactions");
    this.#terms = database("terms");
    this.#dropped = database("dropped");
    this.#kept = database("kept");
    this.#traces = database("traces");
    this.#segments = database("segments");
    this.#segmentOrder = database("segment order");
    this.#keptSegments = new KeptSegments(options, {
      logs: this.#segments,
      order: this.#segmentOrder,
    });
  }

  /** Throws away what is stored when it is of another chain, or of a version that wrote it otherwise. */
  async prepareFor(chainId: number): Promise<{ wasCleared: boolean }> {
    const wanted = `${SCHEMA} ${chainId}`;
    const found = this.note("made for");
    if (found === wanted) return { wasCleared: false };
    await this.clear();
    await this.setNote("made for", wanted);
    return { wasCleared: found !== undefined };
  }

  /** What is over another size leaves with the next changes. */
  resize(size: StoreSize): void {
    this.#options = { ...this.#options, ...size };
    this.#keptSegments.resize(size);
  }

  get size(): StoreSize {
    return this.#options;
  }

  /** A short text that is kept beside the blocks. */
  note(name: string): string | undefined {
    return this.#notes.get(noteKey(name))?.toString();
  }

  async setNote(name: string, text: string): Promise<void> {
    await this.#notes.put(noteKey(name), Buffer.from(text));
  }

  /** Throws away all blocks; the notes stay. */
  async clear(): Promise<void> {
    await this.#root.transaction(() => {
      for (const database of this.#blockDatabases()) database.clearSync();
      this.#notes.removeSync(HEAD);
      this.#notes.removeSync(TAIL);
    });
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  // Reading. All of one synchronous turn sees one state of the store.

  /** From here on what another process has written is seen, in this turn already. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** The newest canonical block; undefined before the first. */
  get head(): Position | undefined {
    const bytes = this.#notes.getBinaryFast(HEAD);
    return bytes && positionIn(bytes);
  }

  /** From this number up to the head, every block is here. */
  get tail(): number | undefined {
    return this.#notes.getBinaryFast(TAIL)?.readUInt32BE(0);
  }

  /** The canonical block's hash; undefined when the block is not here. */
  hashAt(number: number): string | undefined {
    const bytes = this.#canonical.getBinaryFast(numberKey(number));
    return bytes && `0x${bytes.toString("hex", 0, 32)}`;
  }

  /** The same as 32 bytes, for whoever reads parts of many blocks. */
  hashBytesAt(number: number): Buffer | undefined {
    const bytes = this.#canonical.getBinaryFast(numberKey(number));
    return bytes && Buffer.from(bytes.subarray(0, 32));
  }

  outline(hash: string): Outline | undefined {
    const bytes = this.part(hash, "outline");
    return bytes && decodeOutline(bytes);
  }

  /** Where a canonical transaction is. */
  transactionPlace(hash: string): { number: number; index: number } | undefined {
    const bytes = this.#transactions.getBinaryFast(hashKey(hash));
    return bytes && { number: bytes.readUInt32BE(0), index: bytes.readUInt32BE(4) };
  }

  /**
   * One part of a block.
   *
   * @returns Bytes that last until the next reading only: whoever keeps them, copies them.
   */
  part(hash: string | Buffer, part: Part, piece = 0): Buffer | undefined {
    const stored = viewOf(this.#parts.getBinaryFast(partKey(hash, part, piece)));
    return stored && unpack(stored);
  }

  /** What a term has in a segment, until the next reading. */
  postings(segment: number, term: number): Buffer | undefined {
    return viewOf(this.#terms.getBinaryFast(termKey(segment, term)));
  }

  /** JSON that was kept with the block. */
  trace(hash: string, place: TracePlace): Buffer | undefined {
    const stored = viewOf(this.#traces.getBinaryFast(traceKey(hash, place)));
    return stored && Buffer.from(unpack(stored));
  }

  /** JSON that was kept for blocks older than the window. */
  segment(place: SegmentPlace): Buffer | undefined {
    return this.#keptSegments.get(place);
  }

  /** How many bytes of disk the blocks and their indexes take. What was freed and not used again is not counted. */
  get bytes(): number {
    const pages = this.#blockDatabases().reduce((sum, database) => {
      const stats = database.getStats() as Record<string, number>;
      const { treeBranchPageCount = 0, treeLeafPageCount = 0, overflowPages = 0 } = stats;
      return sum + treeBranchPageCount + treeLeafPageCount + overflowPages;
    }, 0);
    return pages * ((this.#root.getStats() as { pageSize?: number }).pageSize ?? 4096);
  }

  // Writing: by the keeper only, one change after the other.

  /** Moves the head. What leaves the window leaves in the same transaction. */
  async move({ removed, added }: HeadMove): Promise<void> {
    const { head } = this;
    const top = (head?.number ?? -1) - removed;
    const newest = added.at(-1);
    const stays = top < 0 ? undefined : this.hashAt(top);
    if (!newest && stays === undefined) throw new Error(`there is no block ${top} to fall back to`);
    await this.#root.transaction(() => {
      for (let number = top + removed; number > top; number -= 1) this.#drop(number);
      for (const record of added) {
        this.#putParts(record);
        this.#makeCanonical(record);
      }
      this.#indexLogs(added);
      const next = newest ? positionOf(newest) : { number: top, hash: stays ?? "" };
      this.#notes.putSync(HEAD, positionBytes(next));
      const first = added[0]?.outline.number ?? top;
      this.#shrink(next.number, Math.min(this.tail ?? first, first));
    });
  }

  /** Throws away all blocks, and begins with another chain's. */
  async startAt(record: BlockRecord): Promise<void> {
    await this.#root.transaction(() => {
      for (const database of this.#blockDatabases()) database.clearSync();
      this.#putParts(record);
      this.#makeCanonical(record);
      this.#indexLogs([record]);
      this.#notes.putSync(HEAD, positionBytes(positionOf(record)));
      this.#putTail(record.outline.number);
    });
  }

  /**
   * Adds blocks below the tail, newest first.
   *
   * @returns false, and nothing is added, when they are not linked to the tail and to each other.
   */
  prepend(records: readonly BlockRecord[]): Promise<boolean> {
    return this.#root.transaction(() => {
      if (!this.#areBelowTail(records)) return false;
      for (const record of records) {
        this.#putParts(record);
        this.#makeCanonical(record);
      }
      this.#indexLogs(records);
      this.#putTail(records.at(-1)?.outline.number ?? 0);
      return true;
    });
  }

  #areBelowTail(records: readonly BlockRecord[]): boolean {
    const { tail } = this;
    const hash = tail === undefined ? undefined : this.hashAt(tail);
    let parentHash = hash && this.outline(hash)?.parentHash;
    for (const record of records) {
      if (record.hash !== parentHash) return false;
      parentHash = record.outline.parentHash;
    }
    return records.length > 0;
  }

  /** Keeps a block older than the window, while the budget allows. @param isCanonical It was asked for by its number. */
  async keep(record: BlockRecord, isCanonical: boolean): Promise<void> {
    await this.#root.transaction(() => {
      if (isCanonical && this.hashAt(record.outline.number) === undefined)
        this.#makeCanonical(record);
      if (this.outline(record.hash)) return;
      this.#putParts(record, compressed);
      const last = [...this.#kept.getKeys({ reverse: true, limit: 1 })][0];
      const order = (last?.readUInt32BE(0) ?? 0) + 1;
      this.#kept.putSync(numberKey(order), positionBytes(positionOf(record)));
      const { tail } = this;
      if (tail !== undefined) this.#putTail(this.#makeRoom(tail));
    });
  }

  /** Keeps JSON with a block, while that one is here. */
  async keepTrace(hash: string, place: TracePlace, json: Buffer): Promise<void> {
    await this.#root.transaction(() => {
      if (!this.outline(hash)) return;
      this.#traces.putSync(traceKey(hash, place), compressed(json));
      const { tail } = this;
      if (tail !== undefined) this.#putTail(this.#makeRoom(tail));
    });
  }

  /** Keeps what is known of final blocks older than the window, while the budget allows. */
  async keepSegment(place: SegmentPlace, json: Buffer): Promise<void> {
    await this.#root.transaction(() => {
      this.#keptSegments.put(place, json);
      const { tail } = this;
      if (tail !== undefined) this.#putTail(this.#makeRoom(tail));
    });
  }

  #putParts(record: BlockRecord, pack: (bytes: Buffer) => Buffer = plain): void {
    const { hash } = record;
    const put = (part: Part, bytes: Buffer, piece = 0): void => {
      this.#parts.putSync(partKey(hash, part, piece), pack(bytes));
    };
    put("outline", encodeOutline(record.outline));
    put("block", record.block);
    for (const [piece, bytes] of record.transactionPieces.entries())
      put("transactions", bytes, piece);
    for (const [piece, bytes] of record.receiptPieces.entries()) put("receipts", bytes, piece);
    put("logs", encodeDirectory(record.logs));
    if (record.uncles) put("uncles", record.uncles);
  }

  #makeCanonical({ hash, outline, transactionHashes }: BlockRecord): void {
    this.#canonical.putSync(numberKey(outline.number), Buffer.from(hashKey(hash)));
    transactionHashes.forEach((transaction, index) => {
      const place = Buffer.allocUnsafe(8);
      place.writeUInt32BE(outline.number, 0);
      place.writeUInt32BE(index, 4);
      this.#transactions.putSync(hashKey(transaction), place);
    });
  }

  #indexLogs(records: readonly BlockRecord[]): void {
    for (const { key, places } of placesByTerm(records)) {
      this.#terms.putSync(key, addPlaces(this.#terms.getBinary(key), places));
    }
  }

  /** The block is no longer canonical; its parts stay, for those who were told of it. */
  #drop(number: number): void {
    const hash = this.hashAt(number);
    if (!hash) return;
    this.#forgetTransactions(number, hash);
    this.#canonical.removeSync(numberKey(number));
    this.#dropped.putSync(positionBytes({ number, hash }), Buffer.alloc(0));
  }

  #forgetTransactions(number: number, hash: string): void {
    const block = this.part(hash, "block");
    for (const transaction of block ? transactionHashesIn(block) : []) {
      if (this.transactionPlace(transaction)?.number === number)
        this.#transactions.removeSync(hashKey(transaction));
    }
  }

  #erase({ number, hash }: Position): void {
    if (this.hashAt(number) === hash) {
      this.#forgetTransactions(number, hash);
      this.#canonical.removeSync(numberKey(number));
    }
    this.#eraseTraces(hash);
    const outline = this.outline(hash);
    if (!outline) return;
    const pieces = Math.ceil(outline.transactions / PIECE_ITEMS);
    for (let piece = 0; piece < pieces; piece += 1) {
      this.#parts.removeSync(partKey(hash, "transactions", piece));
      this.#parts.removeSync(partKey(hash, "receipts", piece));
    }
    for (const part of ["block", "logs", "uncles", "outline"] as const)
      this.#parts.removeSync(partKey(hash, part));
  }

  #eraseTraces(hash: string): void {
    const start = Buffer.from(hashKey(hash));
    for (const key of [...this.#traces.getKeys({ start, end: Buffer.concat([start, LAST]) })])
      this.#traces.removeSync(key);
  }

  /** Lets go of what is older than the window, then of what the budget has no room for. */
  #shrink(head: number, tail: number): void {
    const first = Math.max(tail, head - this.#options.windowBlocks + 1);
    for (let number = tail; number < first; number += 1) this.#eraseAt(number);
    this.#eraseDropped(first);
    this.#dropSegments(segmentOf(first));
    this.#putTail(this.#makeRoom(first));
  }

  /** @returns The tail, risen when what was kept of older blocks was not enough. */
  #makeRoom(tail: number): number {
    let first = tail;
    const head = this.head?.number ?? first;
    while (this.bytes > this.#options.bytes) {
      if (this.#keptSegments.removeOldest()) continue;
      const [oldest] = [...this.#kept.getRange({ limit: 1 })];
      if (oldest && this.#keptCount() > KEPT_AT_LEAST) {
        const position = positionIn(oldest.value);
        this.#kept.removeSync(oldest.key);
        // The window may have grown over it since.
        if (this.hashAt(position.number) !== position.hash || position.number < first)
          this.#erase(position);
      } else if (first < head) {
        this.#eraseAt(first);
        first += 1;
      } else break;
    }
    return first;
  }

  #keptCount(): number {
    return (this.#kept.getStats() as { entryCount?: number }).entryCount ?? 0;
  }

  #eraseAt(number: number): void {
    const hash = this.hashAt(number);
    if (hash) this.#erase({ number, hash });
  }

  #eraseDropped(tail: number): void {
    for (const key of [...this.#dropped.getKeys({ end: numberKey(tail) })]) {
      const position = positionIn(key);
      if (this.hashAt(position.number) !== position.hash) this.#erase(position);
      this.#dropped.removeSync(key);
    }
  }

  /** Segments wholly below the window, a bounded number of entries at a time. */
  #dropSegments(first: number): void {
    const end = termKey(first, 0);
    for (const key of [...this.#terms.getKeys({ end, limit: DROPPED_AT_ONCE })])
      this.#terms.removeSync(key);
  }

  #putTail(number: number): void {
    this.#notes.putSync(TAIL, Buffer.from(numberKey(number)));
  }

  #blockDatabases(): readonly Database<Buffer, Buffer>[] {
    return [
      this.#parts,
      this.#canonical,
      this.#transactions,
      this.#terms,
      this.#dropped,
      this.#kept,
      this.#traces,
      this.#segments,
      this.#segmentOrder,
    ];
  }
}

const positionOf = ({ outline, hash }: BlockRecord): Position => ({
  number: outline.number,
  hash,
});
