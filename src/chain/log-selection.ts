// Logs that were found in stored blocks: where they stand, and themselves as long as they are few. Many are
// read again when they are sent, by the hash of their block: what another chain has at its number does not matter.
import type { JsonSource } from "../jsonrpc/raw-json.ts";
import { itemsOf, PIECE_ITEMS } from "./block-record.ts";
import type { BlockStore } from "./block-store.ts";
import type { LogPlace } from "./log-directory.ts";

/** In bytes: up to here the logs are kept, and need not be read again. */
const WORTH_KEEPING = 131_072;
const CHUNK = 65_536;
const HASH_WORDS = 8;
const COMMA = Buffer.from(",");

export class LogSelection implements JsonSource {
  /** For each block its number and its hash; for each log its block, receipt, start and length. */
  #blocks = new Words(1 + HASH_WORDS);
  readonly #places = new Words(4);
  #copies: Buffer[] | undefined = [];
  #bytes = 0;
  readonly #store: Pick<BlockStore, "part">;

  constructor(parts: { readonly store: Pick<BlockStore, "part"> }) {
    this.#store = parts.store;
  }

  /** Logs come in chain order; those that are added next are of this block. */
  beginBlock(number: number, hash: Buffer): void {
    const words = Array.from({ length: HASH_WORDS }, (_, word) => hash.readUInt32BE(word * 4));
    this.#blocks.push([number, ...words]);
  }

  /** @param log Bytes that last for this turn only. */
  add({ receipt, start, length }: LogPlace, log: Buffer): void {
    this.#places.push([this.#blocks.count - 1, receipt, start, length]);
    this.#bytes += length;
    if (this.#bytes > WORTH_KEEPING) this.#copies = undefined;
    this.#copies?.push(Buffer.from(log));
  }

  get count(): number {
    return this.#places.count;
  }

  /** The number of the block of the log at this place in the order. */
  numberOf(log: number): number {
    return this.#blocks.at(this.#places.at(log, 0), 0);
  }

  /** The logs themselves, if they are few. */
  get few(): readonly Buffer[] | undefined {
    return this.#copies;
  }

  /** Of the logs with commas between them, in bytes. */
  get length(): number {
    return this.#bytes + Math.max(0, this.count - 1);
  }

  get heldBytes(): number {
    return this.#blocks.heldBytes + this.#places.heldBytes + (this.#copies ? this.#bytes : 0);
  }

  /** Those from one place in the order up to another. They are read again, unless these here are few. */
  slice(from: number, to: number): LogSelection {
    const part = new LogSelection({ store: this.#store });
    part.#blocks = this.#blocks;
    for (let index = from; index < to; index += 1) {
      const row = [0, 1, 2, 3].map((column) => this.#places.at(index, column));
      part.#places.push(row);
      part.#bytes += row[3] ?? 0;
    }
    part.#copies = this.#copies?.slice(from, to);
    return part;
  }

  /** Few logs are many beside others: from now on they are read again, too. */
  dropCopies(): void {
    this.#copies = undefined;
  }

  /** All logs, however many. @throws When a block has left the store. */
  all(): readonly Buffer[] {
    if (this.#copies) return this.#copies;
    const reader = new LogReader(this.#store);
    return Array.from({ length: this.count }, (_, index) => Buffer.from(this.#read(index, reader)));
  }

  /** The logs with commas between them. @throws When a block has left the store. */
  *chunks(): Generator<Buffer> {
    let reader = new LogReader(this.#store);
    let chunk = Buffer.allocUnsafe(CHUNK);
    let filled = 0;
    for (let index = 0; index < this.count; index += 1) {
      const bytes = this.#places.at(index, 3) + 1;
      if (filled + bytes > chunk.length) {
        if (filled > 0) yield chunk.subarray(0, filled);
        reader = new LogReader(this.#store); // what was read before does not last over a yield
        chunk = Buffer.allocUnsafe(Math.max(CHUNK, bytes));
        filled = 0;
      }
      if (index > 0) filled += COMMA.copy(chunk, filled);
      filled += this.#read(index, reader).copy(chunk, filled);
    }
    if (filled > 0) yield chunk.subarray(0, filled);
  }

  #read(index: number, reader: LogReader): Buffer {
    const places = this.#places;
    const block = places.at(index, 0);
    const piece = Math.floor(places.at(index, 1) / PIECE_ITEMS);
    if (!reader.has(block, piece)) reader.read(block, piece, this.#hashOf(block));
    const start = places.at(index, 2);
    return reader.items.subarray(start, start + places.at(index, 3));
  }

  #hashOf(block: number): Buffer {
    const hash = Buffer.allocUnsafe(HASH_WORDS * 4);
    for (let word = 0; word < HASH_WORDS; word += 1)
      hash.writeUInt32BE(this.#blocks.at(block, 1 + word), word * 4);
    return hash;
  }
}

/** Reads a piece of receipts once for all of its logs. For one turn. */
class LogReader {
  items: Buffer = Buffer.alloc(0);
  #block = -1;
  #piece = -1;
  readonly #store: Pick<BlockStore, "part">;

  constructor(store: Pick<BlockStore, "part">) {
    this.#store = store;
  }

  has(block: number, piece: number): boolean {
    return block === this.#block && piece === this.#piece;
  }

  read(block: number, piece: number, hash: Buffer): void {
    const bytes = this.#store.part(hash, "receipts", piece);
    if (!bytes) throw new Error("a block left the store while its logs were sent");
    this.items = itemsOf(bytes);
    this.#block = block;
    this.#piece = piece;
  }
}

/** Rows of numbers of 32 bits. */
class Words {
  #words = new Uint32Array(0);
  #rows = 0;
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  get count(): number {
    return this.#rows;
  }

  get heldBytes(): number {
    return this.#words.byteLength;
  }

  at(row: number, column: number): number {
    return this.#words[row * this.#width + column] ?? 0;
  }

  push(row: readonly number[]): void {
    const at = this.#rows * this.#width;
    if (at + this.#width > this.#words.length) {
      const larger = new Uint32Array(Math.max(16 * this.#width, this.#words.length * 2));
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words.set(row, at);
    this.#rows += 1;
  }
}
