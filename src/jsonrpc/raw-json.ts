// JSON text that is passed on unparsed: its length, its lifetime in memory, and the buffers that results are put into.
import { isAscii } from "node:buffer";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { CLOSE_BRACE, COMMA, OPEN_BRACKET } from "./ascii.ts";

/** JSON text that the gateway made, or the bytes that a node sent. */
export type RawJson = string | Buffer;

/** JSON text that is too large for memory: it is made while its reader takes it. */
export type JsonSource = {
  /** The length of the text, in bytes. */
  readonly length: number;
  /** The memory that the source takes, in bytes. */
  readonly heldBytes: number;
  /** The text from its start. @throws When the data that the text is made from no longer exists. */
  chunks(): Iterable<Buffer>;
};

/** The answer to a caller, which may be too large for memory. */
export type AnswerJson = RawJson | JsonSource;

export const isSource = (json: AnswerJson): json is JsonSource =>
  typeof json !== "string" && !Buffer.isBuffer(json);

/** Whether the result is `null`: four bytes, beginning with n. */
export const isNull = (result: Buffer): boolean => result.length === 4 && result[0] === 0x6e;

/** Bytes. A longer result is not made a string: V8 would not allocate it in the space where garbage costs nothing. */
export const LONGEST_TEXT = 65_536;

/**
 * An owned copy of bytes that are valid for a moment: a string if they are ASCII. A buffer above 4 KiB would be a
 * separate allocation, which burdens the garbage collector (docs/decisions/0043-stored-answers-are-strings.md).
 */
export function ownedCopy(bytes: Buffer): RawJson {
  if (bytes.length > LONGEST_TEXT || !isAscii(bytes)) return Buffer.from(bytes);
  lastAscii = bytes.toString("latin1");
  return lastAscii;
}

/** JSON that is assembled only when it is read. */
type Written = { readonly length: number; readonly write: (into: Buffer, at: number) => void };

/** JSON as the store holds it, valid until the store is read again: a receiver that keeps it must copy it first. */
export class BorrowedJson {
  /** Bytes. */
  readonly length: number;
  readonly #json: Buffer | Written;

  constructor(json: Buffer | Written) {
    this.length = json.length;
    this.#json = json;
  }

  /** Bytes that are valid until other borrowed JSON is read. */
  read(): Buffer {
    if (Buffer.isBuffer(this.#json)) return this.#json;
    // A node may write receipts of any length; the shared buffer does not grow with them.
    const whole = this.length > borrowed.length ? Buffer.allocUnsafe(this.length) : borrowed;
    this.#json.write(whole, 0);
    return whole.subarray(0, this.length);
  }

  /** @returns The number of bytes copied. */
  copy(into: Buffer, at: number): number {
    if (Buffer.isBuffer(this.#json)) return this.#json.copy(into, at);
    this.#json.write(into, at);
    return this.length;
  }

  toString(): string {
    return this.read().toString();
  }
}

/** Bytes. */
const LARGEST_BORROWED = 65_536;
const borrowed = Buffer.allocUnsafeSlow(LARGEST_BORROWED);

/** An owned copy of borrowed JSON; other JSON as it is. */
export const ownedJson = <Json>(json: Json): Exclude<Json, BorrowedJson> | RawJson =>
  json instanceof BorrowedJson ? ownedCopy(json.read()) : (json as Exclude<Json, BorrowedJson>);

/** The last ASCII text read. Its length is wanted next; scanning it again takes 1 µs (receipt) to 5 µs (block). */
let lastAscii = "";

/** The buffer in which results are assembled before they become strings; it is reused. */
const workplace = Buffer.allocUnsafeSlow(LONGEST_TEXT);

/**
 * Assembles JSON in a buffer, and returns an owned result: a string if possible.
 *
 * @param write Fills the first `bytes` bytes of the buffer. It must not call `assembleJson`.
 */
export function assembleJson(bytes: number, write: (into: Buffer) => void): RawJson {
  const into = bytes <= workplace.length ? workplace : Buffer.allocUnsafe(bytes);
  write(into);
  return into === workplace ? ownedCopy(into.subarray(0, bytes)) : into;
}

/** Up to this many characters, looking at each is cheaper than a call into the runtime. */
const FEW_CHARACTERS = 32;

/** The length of a text, in bytes of UTF-8. */
export function bytesOf(text: string): number {
  if (text === lastAscii) return text.length;
  if (text.length > FEW_CHARACTERS) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) >= 0x80) return Buffer.byteLength(text);
  return text.length;
}

/** The length of all pieces together, in bytes of UTF-8. */
export function lengthOf(pieces: readonly AnswerJson[]): number {
  let sum = 0;
  for (const piece of pieces) sum += typeof piece === "string" ? bytesOf(piece) : piece.length;
  return sum;
}

/** The memory that the pieces take, in bytes. @param buffer Holds some of the pieces. */
export function heldBytesOf(
  pieces: readonly AnswerJson[],
  buffer?: Pick<BatchResponseBuffer, "bytes">,
): number {
  let sum = 0;
  for (const piece of pieces) sum += isSource(piece) ? piece.heldBytes : piece.length;
  return Math.max(sum, buffer?.bytes ?? 0);
}

/** The parsed value; undefined when the text is not JSON: malformed bytes of a node must not make the gateway throw. */
export function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** Bytes. Outgoing data waits in chunks of this size. */
export const CHUNK_BYTES = 131_072;
/**
 * Bytes. Chunks are cut from slabs of this size, which the system takes back once they are collected. Smaller
 * allocations stay with the process while anything allocated behind them is in use (docs/performance.md, Memory).
 */
const SLAB_BYTES = 262_144;
let slab: Buffer = Buffer.alloc(0);
/** The most chunks that wait to be reused: 16 MiB. */
const MOST_IDLE = 128;
const idle: Buffer[] = [];

/** Reuses a chunk if possible: a new one is an allocation outside of the heap, which burdens the collector. */
function takeChunk(): Buffer {
  const used = idle.pop();
  if (used) return used;
  if (slab.length === 0) slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  const chunk = slab.subarray(0, CHUNK_BYTES);
  slab = slab.subarray(CHUNK_BYTES);
  return chunk;
}

/** @param chunk A chunk of which no part is read any more. */
function giveBack(chunk: Buffer): void {
  if (idle.length < MOST_IDLE) idle.push(chunk);
}

/** The chunks that are lent, by slab and by their position in the slab. */
const lent = new WeakMap<ArrayBufferLike, (Buffer | undefined)[]>();

const slotOf = ({ byteOffset }: Buffer): number => Math.floor(byteOffset / CHUNK_BYTES);

/** A chunk that its borrower may give back with `giveBackLent`. */
export function lendChunk(): Buffer {
  const chunk = takeChunk();
  const ofSlab = lent.get(chunk.buffer) ?? [];
  ofSlab[slotOf(chunk)] = chunk;
  lent.set(chunk.buffer, ofSlab);
  return chunk;
}

/** Takes a lent chunk back once its bytes were sent and nothing reads them any more. Other buffers are ignored. */
export function giveBackLent(part: Buffer): void {
  const ofSlab = lent.get(part.buffer);
  const chunk = ofSlab?.[slotOf(part)];
  if (!ofSlab || !chunk) return;
  ofSlab[slotOf(part)] = undefined;
  giveBack(chunk);
}

const BEFORE_ID_TEXT = '{"jsonrpc":"2.0","id":';
const BEHIND_ID_TEXT = ',"result":';
/** The envelope as bytes, as the gateway and most nodes write it. */
export const BEFORE_ID = Buffer.from(BEFORE_ID_TEXT);
export const BEHIND_ID = Buffer.from(BEHIND_ID_TEXT);
/** The length of a result's envelope without its id, in bytes. */
export const AROUND_RESULT = BEFORE_ID.length + BEHIND_ID.length + 1;

/** @param id JSON text: the exact characters that the caller sent. */
export const beforeResult = (id: string): string => `${BEFORE_ID_TEXT}${id}${BEHIND_ID_TEXT}`;

/** The most chunks of one buffer: 1 MiB. */
const MOST_CHUNKS = 8;
/** Members. A smaller batch that waits for nodes would occupy a whole chunk for an answer or two. */
const WORTH_A_BUFFER = 8;

/**
 * Holds the answers of one batch, one behind the other. If the answers were strings, the garbage collector would move
 * them until the caller takes them (docs/decisions/0043-stored-answers-are-strings.md).
 */
export class BatchResponseBuffer {
  readonly #chunks: Buffer[] = [];
  /** The offset behind the last answer, in the last chunk. */
  #at = CHUNK_BYTES;
  readonly #mostChunks: number;

  /** @param members The members of the batch: a small batch gets no chunks. */
  constructor(members: number) {
    this.#mostChunks = members < WORTH_A_BUFFER ? 0 : MOST_CHUNKS;
  }

  /** The memory that the buffer takes, in bytes. */
  get bytes(): number {
    return this.#chunks.length * CHUNK_BYTES;
  }

  /**
   * Puts a result into its envelope.
   *
   * @param id JSON text.
   * @returns The envelope, as bytes that are valid until the buffer is given back; the byte before it is a comma, before
   *   the first one a bracket. undefined when the buffer is full, or the id is not ASCII.
   */
  put(id: string, json: Buffer | BorrowedJson): Buffer | undefined {
    const length = AROUND_RESULT + id.length + json.length + 1;
    const chunk = this.#chunkFor(length);
    if (!chunk) return undefined;
    const isFirst = this.#chunks.length === 1 && this.#at === 0;
    chunk[this.#at] = isFirst ? OPEN_BRACKET : COMMA;
    const start = this.#at + 1;
    // For so few bytes, calls into the runtime would cost more than the loop.
    chunk.set(BEFORE_ID, start);
    let at = start + BEFORE_ID.length;
    for (let digit = 0; digit < id.length; digit += 1) {
      const character = id.charCodeAt(digit);
      if (character >= 0x80) return undefined;
      chunk[at++] = character;
    }
    chunk.set(BEHIND_ID, at);
    at += BEHIND_ID.length;
    at += json.copy(chunk, at);
    chunk[at] = CLOSE_BRACE;
    this.#at = at + 1;
    return chunk.subarray(start, this.#at);
  }

  /** Gives the chunks back. The caller must not read the buffer's envelopes any more. */
  giveBack(): void {
    for (const chunk of this.#chunks.splice(0)) giveBack(chunk);
    this.#at = CHUNK_BYTES;
  }

  #chunkFor(length: number): Buffer | undefined {
    const last = this.#chunks.at(-1);
    if (last && this.#at + length <= CHUNK_BYTES) return last;
    if (length > CHUNK_BYTES || this.#chunks.length === this.#mostChunks) return undefined;
    const chunk = takeChunk();
    this.#chunks.push(chunk);
    this.#at = 0;
    return chunk;
  }
}

/** Bytes per packed chunk. A text that is shorter in all stays unpacked. */
const CHUNK = 1 << 20;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** By default Node would join pieces of 16 KiB, and hold the text in memory twice. */
const WHOLE = { chunkSize: CHUNK };

/** Raw JSON, compressed; its `chunks` can be read repeatedly. */
export class PackedJson implements JsonSource {
  /** The length of the text, in bytes. */
  readonly length: number;
  readonly packed: readonly Buffer[];

  constructor(packed: readonly Buffer[], length: number) {
    this.packed = packed;
    this.length = length;
  }

  get heldBytes(): number {
    return this.packed.reduce((sum, { length }) => sum + length, 0);
  }

  *chunks(): Generator<Buffer> {
    for (const chunk of this.packed) yield zstdDecompressSync(chunk, WHOLE);
  }

  /** The whole text, which must be short enough for a string. */
  toString(): string {
    return Buffer.concat([...this.chunks()]).toString();
  }
}

/** Compresses one JSON text that is written in pieces. */
export class JsonPacker {
  /** Each piece is copied here at once: many small strings that wait would stay in memory for longer. */
  readonly #waiting = Buffer.allocUnsafeSlow(CHUNK);
  #waitingBytes = 0;
  #packed: Buffer[] = [];
  #packedBytes = 0;
  #length = 0;

  /** The memory that the packer takes, in bytes. */
  get heldBytes(): number {
    return CHUNK + this.#packedBytes;
  }

  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#length += bytes;
    if (this.#waitingBytes + bytes > CHUNK) this.#pack();
    if (bytes > CHUNK) this.#add(zstdCompressSync(text, FAST));
    else this.#waitingBytes += this.#waiting.write(text, this.#waitingBytes);
  }

  /** Adds a text that is already packed. */
  append({ packed, length }: PackedJson): void {
    this.#pack();
    for (const chunk of packed) this.#add(chunk);
    this.#length += length;
  }

  /** The text, unpacked if it is short. Nothing can be written afterwards. */
  finish(): string | PackedJson {
    if (this.#packed.length === 0) return this.#waiting.toString("utf8", 0, this.#waitingBytes);
    this.#pack();
    return new PackedJson(this.#packed, this.#length);
  }

  #pack(): void {
    if (this.#waitingBytes === 0) return;
    this.#add(zstdCompressSync(this.#waiting.subarray(0, this.#waitingBytes), FAST));
    this.#waitingBytes = 0;
  }

  #add(packed: Buffer): void {
    this.#packed.push(packed);
    this.#packedBytes += packed.length;
  }
}
