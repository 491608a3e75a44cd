// JSON text that is passed on as it is: its parts, how long it is, and how what is too large to be held is kept.
import { isAscii } from "node:buffer";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

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

/** What was read last is measured next: to look through a receipt again takes a microsecond, through a block five. */
let lastAscii = "";

/** Where what goes on as a text is put together; used again and again. */
const room = Buffer.allocUnsafeSlow(LONGEST_TEXT);

/**
 * What is put together in a buffer of so many bytes, or more: it lasts, as a text where it can be one.
 *
 * @param write Fills the buffer, and puts nothing else together.
 */
export function putTogether(bytes: number, write: (into: Buffer) => void): RawJson {
  const into = bytes <= room.length ? room : Buffer.allocUnsafe(bytes);
  write(into);
  return into === room ? lasting(into.subarray(0, bytes)) : into;
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

/** What the pieces take in memory, in bytes. */
export function heldBytesOf(pieces: readonly AnswerJson[]): number {
  let sum = 0;
  for (const piece of pieces) sum += isSource(piece) ? piece.heldBytes : piece.length;
  return sum;
}

/** The value that a text stands for; undefined when it is no JSON: what a node writes must never make us throw. */
export function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
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
