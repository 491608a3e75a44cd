// JSON text that is passed on as it is: its parts, how long it is, where it waits to be sent, and how what is too large to be held is kept.
import { isAscii } from "node:buffer";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { CLOSE_BRACE, COMMA, OPEN_BRACKET } from "./ascii.ts";

/** Text made here, or the bytes of a node. */
export type RawJson = string | Buffer;

/** JSON text too large to be held: it is made while its reader takes it. */
export type JsonSource = {
  /** Of the text, in bytes. */
  readonly length: number;
  /** What is held meanwhile, in bytes. */
  readonly heldBytes: number;
  /** The text from its start. @throws When what it is made from is gone. */
  chunks(): Iterable<Buffer>;
};

/** What callers are answered: also text that is too large to be held. */
export type AnswerJson = RawJson | JsonSource;

export const isSource = (json: AnswerJson): json is JsonSource =>
  typeof json !== "string" && !Buffer.isBuffer(json);

/** A result of four bytes that begins with n. */
export const isNull = (result: Buffer): boolean => result.length === 4 && result[0] === 0x6e;

/** In bytes. What is longer is no text: V8 would not put it where its garbage costs nothing. */
export const LONGEST_TEXT = 65_536;

/**
 * What lasts of bytes that do not: of ASCII a text. A buffer above 4 KiB is an allocation of its own, of which
 * the collector is told (docs/decisions/0043-answers-are-texts.md).
 */
export function lasting(bytes: Buffer): RawJson {
  if (bytes.length > LONGEST_TEXT || !isAscii(bytes)) return Buffer.from(bytes);
  lastAscii = bytes.toString("latin1");
  return lastAscii;
}

/** JSON that is put together where it is wanted. */
type Written = { readonly length: number; readonly write: (into: Buffer, at: number) => void };

/** JSON as it lies in the store. It lasts until the store is read again: whoever is given it copies it first. */
export class BorrowedJson {
  /** In bytes. */
  readonly length: number;
  readonly #json: Buffer | Written;

  constructor(json: Buffer | Written) {
    this.length = json.length;
    this.#json = json;
  }

  /** Bytes that last until other JSON is read. */
  read(): Buffer {
    if (Buffer.isBuffer(this.#json)) return this.#json;
    // A node may write receipts of any length: the place does not grow with them.
    const whole = this.length > borrowed.length ? Buffer.allocUnsafe(this.length) : borrowed;
    this.#json.write(whole, 0);
    return whole.subarray(0, this.length);
  }

  /** @returns How many bytes were copied. */
  copy(into: Buffer, at: number): number {
    if (Buffer.isBuffer(this.#json)) return this.#json.copy(into, at);
    this.#json.write(into, at);
    return this.length;
  }

  toString(): string {
    return this.read().toString();
  }
}

/** In bytes. */
const LARGEST_BORROWED = 65_536;
const borrowed = Buffer.allocUnsafeSlow(LARGEST_BORROWED);

/** What lasts of JSON that may be borrowed. */
export const kept = <Json>(json: Json): Exclude<Json, BorrowedJson> | RawJson =>
  json instanceof BorrowedJson ? lasting(json.read()) : (json as Exclude<Json, BorrowedJson>);

/** What was read last is measured next: to look through a receipt again takes a microsecond, through a block five. */
let lastAscii = "";

/** Where what goes on as a text is put together; used again and again. */
const workplace = Buffer.allocUnsafeSlow(LONGEST_TEXT);

/**
 * What is put together in a buffer of so many bytes, or more: it lasts, as a text where it can be one.
 *
 * @param write Fills the buffer, and puts nothing else together.
 */
export function putTogether(bytes: number, write: (into: Buffer) => void): RawJson {
  const into = bytes <= workplace.length ? workplace : Buffer.allocUnsafe(bytes);
  write(into);
  return into === workplace ? lasting(into.subarray(0, bytes)) : into;
}

/** Up to so many characters it is cheaper to look at each than to ask the runtime. */
const FEW_CHARACTERS = 32;

/** How long a text is in bytes of UTF-8. */
export function bytesOf(text: string): number {
  if (text === lastAscii) return text.length;
  if (text.length > FEW_CHARACTERS) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) >= 0x80) return Buffer.byteLength(text);
  return text.length;
}

/** In bytes of UTF-8. */
export function lengthOf(pieces: readonly AnswerJson[]): number {
  let sum = 0;
  for (const piece of pieces) sum += typeof piece === "string" ? bytesOf(piece) : piece.length;
  return sum;
}

/** What the pieces take in memory, in bytes. @param room Where some of them lie. */
export function heldBytesOf(
  pieces: readonly AnswerJson[],
  room?: Pick<AnswerRoom, "bytes">,
): number {
  let sum = 0;
  for (const piece of pieces) sum += isSource(piece) ? piece.heldBytes : piece.length;
  return Math.max(sum, room?.bytes ?? 0);
}

/** The value that a text stands for; undefined when it is no JSON: what a node writes must never make us throw. */
export function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** In bytes: what is on its way out waits in chunks of this size. */
export const CHUNK_BYTES = 131_072;
/**
 * In bytes: chunks are cut from pieces that the system takes back once they are collected. What is allocated in smaller ones
 * stays with the process as long as anything behind it is in use (docs/performance.md, Memory).
 */
const SLAB_BYTES = 262_144;
let slab: Buffer = Buffer.alloc(0);
/** So many wait to be used again: 16 MiB. */
const MOST_IDLE = 128;
const idle: Buffer[] = [];

/** New chunks would be allocations outside of the heap, which have the collector at work: they are used again and again. */
function takeChunk(): Buffer {
  const used = idle.pop();
  if (used) return used;
  if (slab.length === 0) slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  const chunk = slab.subarray(0, CHUNK_BYTES);
  slab = slab.subarray(CHUNK_BYTES);
  return chunk;
}

/** @param chunk Nobody looks at it, or at a part of it, any more. */
function giveBack(chunk: Buffer): void {
  if (idle.length < MOST_IDLE) idle.push(chunk);
}

/** Those that go to a writer, by slab and by their place in it. */
const lent = new WeakMap<ArrayBufferLike, (Buffer | undefined)[]>();

const placeOf = ({ byteOffset }: Buffer): number => Math.floor(byteOffset / CHUNK_BYTES);

/** A chunk that its writer may give back. */
export function lendChunk(): Buffer {
  const chunk = takeChunk();
  const ofSlab = lent.get(chunk.buffer) ?? [];
  ofSlab[placeOf(chunk)] = chunk;
  lent.set(chunk.buffer, ofSlab);
  return chunk;
}

/** Gives a chunk back that was lent, once it was written and nobody reads it any more. Other chunks are left alone. */
export function giveBackLent(part: Buffer): void {
  const ofSlab = lent.get(part.buffer);
  const chunk = ofSlab?.[placeOf(part)];
  if (!ofSlab || !chunk) return;
  ofSlab[placeOf(part)] = undefined;
  giveBack(chunk);
}

const BEFORE_ID_TEXT = '{"jsonrpc":"2.0","id":';
const BEHIND_ID_TEXT = ',"result":';
/** As bytes: of an envelope as it is written here, and by most nodes. */
export const BEFORE_ID = Buffer.from(BEFORE_ID_TEXT);
export const BEHIND_ID = Buffer.from(BEHIND_ID_TEXT);
/** In bytes: the envelope of a result, without its id. */
export const AROUND_RESULT = BEFORE_ID.length + BEHIND_ID.length + 1;

/** @param id JSON text: the very characters that the caller sent. */
export const beforeResult = (id: string): string => `${BEFORE_ID_TEXT}${id}${BEHIND_ID_TEXT}`;

/** So many chunks has one room at most: 1 MiB. */
const MOST_CHUNKS = 8;
/** In members: a batch that waits for nodes would keep a chunk for one text or two. */
const WORTH_A_ROOM = 8;

/**
 * Where the answers of one batch are put, one behind the other. As texts they would be moved about by the collector
 * until their caller takes them (docs/decisions/0043-answers-are-texts.md).
 */
export class AnswerRoom {
  readonly #chunks: Buffer[] = [];
  /** How far the last one is filled. */
  #at = CHUNK_BYTES;
  readonly #mostChunks: number;

  /** @param members Of the batch: few are not worth a chunk. */
  constructor(members: number) {
    this.#mostChunks = members < WORTH_A_ROOM ? 0 : MOST_CHUNKS;
  }

  /** What it takes in memory, in bytes. */
  get bytes(): number {
    return this.#chunks.length * CHUNK_BYTES;
  }

  /**
   * Puts a result into its envelope.
   *
   * @param id JSON.
   * @returns The envelope, as bytes that last until the room is given back; before it stands a comma, before the first a
   *   bracket. undefined where there is no room, and for an id that is not ASCII.
   */
  put(id: string, json: Buffer | BorrowedJson): Buffer | undefined {
    const length = AROUND_RESULT + id.length + json.length + 1;
    const chunk = this.#chunkFor(length);
    if (!chunk) return undefined;
    const isFirst = this.#chunks.length === 1 && this.#at === 0;
    chunk[this.#at] = isFirst ? OPEN_BRACKET : COMMA;
    const start = this.#at + 1;
    // Few bytes: each call of the runtime would cost more than all of them.
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

  /** Nobody looks at what was put there any more. */
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

/** In bytes. What is shorter in all is not packed. */
const CHUNK = 1 << 20;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Else the text is put together from pieces of 16 KiB, and stands in memory twice. */
const WHOLE = { chunkSize: CHUNK };

/** Raw JSON that is read by its `chunks`, as often as wanted. */
export class PackedJson implements JsonSource {
  /** Of the text, in bytes. */
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

  /** All of the text at once, which must be short enough for a string. */
  toString(): string {
    return Buffer.concat([...this.chunks()]).toString();
  }
}

/** Takes the pieces of one JSON text. */
export class JsonPacker {
  /** Pieces are copied at once: what waits as many small strings outlives them in memory. */
  readonly #waiting = Buffer.allocUnsafeSlow(CHUNK);
  #waitingBytes = 0;
  #packed: Buffer[] = [];
  #packedBytes = 0;
  #length = 0;

  /** What it takes in memory, in bytes. */
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

  /** Adds what is packed already. */
  append({ packed, length }: PackedJson): void {
    this.#pack();
    for (const chunk of packed) this.#add(chunk);
    this.#length += length;
  }

  /** The text: as it is when it is short. Nothing can be written any more. */
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
