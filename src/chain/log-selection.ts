// Logs that were found in stored blocks: their spans, and their bytes while they are few. Many logs are read again by the
// hash of their block when they are sent, so a reorg in between does no harm.
import { COMMA } from "../jsonrpc/ascii.ts";
import { CHUNK_BYTES, giveBackLent, type JsonSource, lendChunk } from "../jsonrpc/raw-json.ts";
import { eachLogSpan, type LogSpan, logsIn } from "./log-index.ts";
import { itemsOf, type PartReader } from "./stored-block.ts";

/** A selection of up to this many bytes keeps the logs themselves, so that they need not be read again. */
const WORTH_KEEPING = 131_072;
const HASH_WORDS = 8;

export class LogSelection implements JsonSource {
  /** For each block: its number and its hash. */
  #blocks = new Words(1 + HASH_WORDS);
  /** For each log: its block, the piece of receipts that has it, start and length. */
  readonly #spans = new Words(4);
  /** Each buffer is a log, or several logs with commas between them. */
  #kept: Buffer[] | undefined = [];
  #length = 0;
  readonly #store: PartReader;

  constructor(parts: { readonly store: PartReader }) {
    this.#store = parts.store;
  }

  /** Begins a block: the logs that are added next are of this block. Blocks come in chain order. */
  beginBlock(number: number, hash: Buffer): void {
    const words = this.#blocks;
    const at = words.addRow();
    words.set(at, 0, number);
    for (let word = 0; word < HASH_WORDS; word += 1)
      words.set(at, 1 + word, hash.readUInt32BE(word * 4));
  }

  /** @param log Bytes that are valid for this turn only. */
  add({ piece, start, length }: LogSpan, log: Buffer): void {
    this.#addSpan(this.#blocks.count - 1, piece, start, length);
    this.#kept?.push(Buffer.from(log));
  }

  /** Adds the logs of a block's directory (`log-index.ts`) with at least `leastTopics` topics; `keepFew` reads them. */
  addAll(
    { number, hash }: { readonly number: number; readonly hash: Buffer },
    directory: Buffer,
    leastTopics: number,
  ): void {
    this.beginBlock(number, hash);
    this.#kept = undefined;
    this.#spans.reserve(logsIn(directory));
    const block = this.#blocks.count - 1;
    eachLogSpan(directory, leastTopics, (piece, start, length) =>
      this.#addSpan(block, piece, start, length),
    );
  }

  /** Reads the logs that were added without bytes, if they are few. @throws When a block has left the store. */
  keepFew(): void {
    if (this.#kept || this.#length > WORTH_KEEPING) return;
    const kept = Buffer.allocUnsafe(this.#length);
    this.#fill(kept, { end: 0, bytes: 0 }, new LogReader(this.#store));
    this.#kept = this.#length > 0 ? [kept] : [];
  }

  get count(): number {
    return this.#spans.count;
  }

  /** The number of the block of the log at this index. */
  numberOf(log: number): number {
    return this.#blocks.at(this.#spans.at(log, BLOCK), 0);
  }

  /** The logs themselves, if they are few; else undefined. */
  get few(): readonly Buffer[] | undefined {
    return this.#kept && this.#oneByOne(this.#kept);
  }

  /** As `few`, in a form that is faster to join: each buffer is a log, or several logs with commas between them. */
  get fewRuns(): readonly Buffer[] | undefined {
    return this.#kept;
  }

  /** The length of all logs with the commas between them, in bytes. */
  get length(): number {
    return this.#length;
  }

  get heldBytes(): number {
    return this.#blocks.heldBytes + this.#spans.heldBytes + (this.#kept ? this.#length : 0);
  }

  /** Selects the logs from one index up to another. They are read again, unless this selection keeps its logs. */
  slice(from: number, to: number): LogSelection {
    const part = new LogSelection({ store: this.#store });
    part.#blocks = this.#blocks;
    for (let index = from; index < to; index += 1) {
      const [block = 0, piece = 0, start = 0, length = 0] = this.#spans.row(index);
      part.#addSpan(block, piece, start, length);
    }
    part.#kept = this.few?.slice(from, to);
    return part;
  }

  /** Drops the kept logs, because the caller joins this selection with many others: the logs are read again when sent. */
  dropCopies(): void {
    this.#kept = undefined;
  }

  /** All logs, however many. @throws When a block has left the store. */
  all(): readonly Buffer[] {
    return this.#oneByOne(this.#kept ?? [...this.chunks()]);
  }

  /** The logs with commas between them, in chunks. @throws When a block has left the store. */
  *chunks(): Generator<Buffer> {
    let chunk: Buffer | undefined;
    let filled: Filled = { end: 0, bytes: 0 };
    try {
      while (filled.end < this.count) {
        const reader = new LogReader(this.#store); // its bytes are valid for this turn only
        chunk ??= this.#chunkFor(filled.end);
        filled = this.#fill(chunk, filled, reader);
        const full = chunk.subarray(0, filled.bytes);
        chunk = undefined;
        if (filled.end < this.count) {
          // The rest of the last piece is copied before the turn ends: a later turn would have to read the piece again.
          chunk = this.#chunkFor(filled.end);
          filled = this.#fill(chunk, { end: filled.end, bytes: 0 }, reader, true);
        }
        yield full;
      }
      const last = chunk?.subarray(0, filled.bytes);
      chunk = undefined;
      if (last) yield last;
    } finally {
      if (chunk) giveBackLent(chunk); // no caller received this chunk
    }
  }

  /** A chunk with room for the log, however long the log is. */
  #chunkFor(log: number): Buffer {
    const least = this.#spans.at(log, LENGTH) + 1;
    return least > CHUNK_BYTES ? Buffer.allocUnsafe(least) : lendChunk();
  }

  /**
   * Fills a chunk with further logs, with the commas before them, as far as there is room.
   * @param isLastPiece Whether to stop behind the piece that the reader has.
   */
  #fill(
    chunk: Buffer,
    { end: first, bytes }: Filled,
    reader: LogReader,
    isLastPiece = false,
  ): Filled {
    let filled = bytes;
    let end = first;
    while (end < this.count) {
      if (isLastPiece && !reader.has(this.#spans.at(end, BLOCK), this.#spans.at(end, PIECE))) break;
      const commas = end > 0 ? 1 : 0;
      if (filled + commas + this.#spans.at(end, LENGTH) > chunk.length) break;
      if (commas > 0) filled = chunk.writeUInt8(COMMA, filled);
      const run = this.#runFrom(end, chunk.length - filled);
      this.#copy(end, run.bytes, reader, chunk, filled);
      filled += run.bytes;
      end = run.end;
    }
    return { end, bytes: filled };
  }

  #addSpan(block: number, piece: number, start: number, length: number): void {
    const spans = this.#spans;
    const at = spans.addRow();
    spans.set(at, BLOCK, block);
    spans.set(at, PIECE, piece);
    spans.set(at, START, start);
    spans.set(at, LENGTH, length);
    this.#length += at > 0 ? length + 1 : length;
    if (this.#length > WORTH_KEEPING) this.#kept = undefined;
  }

  /** Splits all logs. @param runs Each buffer is a log, or several logs with commas between them. */
  #oneByOne(runs: readonly Buffer[]): Buffer[] {
    const logs: Buffer[] = [];
    for (const run of runs) {
      let at = run[0] === COMMA ? 1 : 0;
      while (at < run.length) {
        const end = at + this.#spans.at(logs.length, LENGTH);
        logs.push(run.subarray(at, end));
        at = end + 1;
      }
    }
    return logs;
  }

  /**
   * Finds logs that can be copied as one run: the JSON of a receipt has neighbouring logs in the form in which they are
   * sent, if all logs between them are wanted. In a JSON array a gap of one byte can only be a comma.
   * @returns The index behind the run, which ends at other JSON or when there is no more room.
   */
  #runFrom(first: number, room: number): { end: number; bytes: number } {
    const spans = this.#spans;
    const start = spans.at(first, START);
    let behind = start + spans.at(first, LENGTH);
    let end = first + 1;
    while (end < this.count) {
      const next = behind + 1 + spans.at(end, LENGTH);
      const isTogether =
        spans.at(end, START) === behind + 1 &&
        spans.at(end, PIECE) === spans.at(first, PIECE) &&
        spans.at(end, BLOCK) === spans.at(first, BLOCK);
      if (!isTogether || next - start > room) break;
      behind = next;
      end += 1;
    }
    return { end, bytes: behind - start };
  }

  /** Copies this many bytes, from the start of a log on. */
  #copy(index: number, bytes: number, reader: LogReader, to: Buffer, at: number): void {
    const spans = this.#spans;
    const block = spans.at(index, BLOCK);
    const piece = spans.at(index, PIECE);
    if (!reader.has(block, piece)) reader.read(block, piece, this.#hashOf(block));
    const start = spans.at(index, START);
    reader.items.copy(to, at, start, start + bytes);
  }

  #hashOf(block: number): Buffer {
    const hash = Buffer.allocUnsafe(HASH_WORDS * 4);
    for (let word = 0; word < HASH_WORDS; word += 1)
      hash.writeUInt32BE(this.#blocks.at(block, 1 + word), word * 4);
    return hash;
  }
}

/** How far a chunk is filled: the index behind the last log in it, and the bytes in it. */
type Filled = { readonly end: number; readonly bytes: number };

/** The columns of a span. */
const [BLOCK, PIECE, START, LENGTH] = [0, 1, 2, 3] as const;

const NO_ITEMS = Buffer.alloc(0);

/** Reads a piece of receipts once for all of its logs. To be used within one turn. */
class LogReader {
  items: Buffer = NO_ITEMS;
  #block = -1;
  #piece = -1;
  readonly #store: PartReader;

  constructor(store: PartReader) {
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

/** Rows of 32-bit numbers. */
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

  row(row: number): Uint32Array {
    return this.#words.subarray(row * this.#width, (row + 1) * this.#width);
  }

  set(row: number, column: number, word: number): void {
    this.#words[row * this.#width + column] = word;
  }

  /** Makes room for this many more rows. */
  reserve(rows: number): void {
    if ((this.#rows + rows) * this.#width <= this.#words.length) return;
    const least = (this.#rows + rows) * this.#width;
    const larger = new Uint32Array(Math.max(16 * this.#width, this.#words.length * 2, least));
    larger.set(this.#words);
    this.#words = larger;
  }

  /** @returns The index of the new row. The caller sets its columns next. */
  addRow(): number {
    this.reserve(1);
    this.#rows += 1;
    return this.#rows - 1;
  }
}
