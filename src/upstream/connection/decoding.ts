// Decodes the body of an answer while it arrives, by the codings that its Content-Encoding names (RFC 9110, 8.4). Small
// bodies are decoded at once. Large ones are decoded by the thread pool, no faster than the decoded pieces are taken.
import {
  type BrotliDecompress,
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  gunzipSync,
  type Inflate,
  type InflateRaw,
  inflateRawSync,
  inflateSync,
  type ZstdDecompress,
  zstdDecompressSync,
} from "node:zlib";

/** The codings of a body in the order in which they were applied; none for a plain body. */
export type ReadCodings =
  | { readonly kind: "known"; readonly codings: readonly Coding[] }
  | { readonly kind: "unknown"; readonly reason: string };

type Coding = "gzip" | "br" | "zstd" | "deflate";

/** An honest server applies one coding, and a proxy before it perhaps another one. */
const MOST_CODINGS = 3;

/** Reads the header Content-Encoding. */
export function readCodings(header: string | readonly string[]): ReadCodings {
  const codings: Coding[] = [];
  for (const written of String(header).toLowerCase().split(",")) {
    const name = written.trim();
    if (name === "" || name === "identity") continue;
    const coding = CODINGS[name];
    if (!coding) return { kind: "unknown", reason: `content encoding ${shown(name)}` };
    codings.push(coding);
    if (codings.length > MOST_CODINGS)
      return { kind: "unknown", reason: "too many content encodings" };
  }
  return { kind: "known", codings };
}

const CODINGS: Readonly<Record<string, Coding | undefined>> = {
  __proto__: null as never,
  ...{ gzip: "gzip", "x-gzip": "gzip", br: "br", zstd: "zstd", deflate: "deflate" },
};

const shown = (name: string): string =>
  /^[a-z0-9_-]{1,20}$/.test(name) ? `${name} is not known` : "is not known";

/** A body of up to this many bytes is decoded at once, in a fifth of the time that a stream takes … */
const SMALL_BYTES = 16_384;
/** … unless it decodes to more bytes than this. */
const SMALL_DECODED_BYTES = 262_144;

export type DecodingParts = {
  /** Takes a decoded piece. @returns false when no more pieces are wanted. */
  readonly take: (piece: Buffer) => boolean;
  /** Is called once at the end of the body; not when pieces are unwanted, and not after `stop`. */
  readonly onEnd: (end: "whole" | "broken") => void;
  /** The source of the coded bytes. */
  readonly source: { pause(): void; resume(): void };
};

export class Decoding {
  /** The first bytes, until they are too many to be decoded at once. */
  #gathered: Buffer[] = [];
  #bytes = 0;
  /** The decoders in the order in which a large body goes through them; empty: the body is plain despite its header. */
  #row: readonly Decoder[] | undefined;
  #isOver = false;
  readonly #codings: readonly Coding[];
  readonly #parts: DecodingParts;

  constructor(codings: readonly Coding[], parts: DecodingParts) {
    this.#codings = codings;
    this.#parts = parts;
  }

  /** Takes the next coded bytes. */
  add(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#row) {
      this.#pass(chunk, this.#row);
      return;
    }
    this.#gathered.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > SMALL_BYTES) this.#beginRow(this.#takeGathered());
  }

  /** To be called after the last coded byte. */
  end(): void {
    if (this.#isOver) return;
    if (!this.#row && this.#endAtOnce(this.#takeGathered())) return;
    const [first] = this.#row ?? [];
    if (first) first.end();
    else this.#finish("whole");
  }

  /** @returns false when the body decodes to many bytes, so that a row of decoders begins with it. */
  #endAtOnce(body: Buffer): boolean {
    const decoded = isJson(body) ? body : decodedAtOnce(body, this.#codings);
    if (decoded === "too large") this.#beginRow(body);
    else if (decoded === "broken") this.#finish("broken");
    else if (decoded.length === 0 || this.#take(decoded)) this.#finish("whole");
    return decoded !== "too large";
  }

  /** Frees the decoders, and drops what they hold. */
  stop(): void {
    this.#isOver = true;
    this.#gathered = [];
    for (const decoder of this.#row ?? []) decoder.destroy();
  }

  #takeGathered(): Buffer {
    const [only] = this.#gathered;
    const body =
      only && this.#gathered.length === 1 ? only : Buffer.concat(this.#gathered, this.#bytes);
    this.#gathered = [];
    return body;
  }

  #beginRow(body: Buffer): void {
    const row = isJson(body) ? [] : rowOf(this.#codings, body);
    this.#row = row;
    for (const [at, decoder] of row.entries()) {
      decoder.on("error", () => this.#finish("broken"));
      const next = row[at + 1];
      if (next) decoder.pipe(next);
    }
    row[0]?.on("drain", () => this.#parts.source.resume());
    row.at(-1)?.on("data", (piece: Buffer) => this.#take(piece));
    row.at(-1)?.on("end", () => this.#finish("whole"));
    this.#pass(body, row);
  }

  #pass(chunk: Buffer, [first]: readonly Decoder[]): void {
    if (!first) this.#take(chunk);
    else if (!first.write(chunk)) this.#parts.source.pause();
  }

  #take(piece: Buffer): boolean {
    if (this.#isOver) return false;
    const isWanted = this.#parts.take(piece);
    if (!isWanted) this.stop();
    return isWanted;
  }

  #finish(end: "whole" | "broken"): void {
    if (this.#isOver) return;
    this.stop();
    this.#parts.onEnd(end);
  }
}

type Decoder = Gunzip | BrotliDecompress | ZstdDecompress | Inflate | InflateRaw;

/** The first bytes of a body that are looked at. */
const LOOKED_AT = 16;
/** The beginning of a JSON-RPC answer. A coded body has no such row of printable bytes at its beginning. */
const JSON_BEGINS = /^[\t\n\r ]*[{[][\t\n\r\x20-\x7e]*$/;

/** Whether a body is plain JSON although its header names a coding, as behind some misconfigured proxies. */
const isJson = (body: Buffer): boolean =>
  body.length >= LOOKED_AT && JSON_BEGINS.test(body.toString("latin1", 0, LOOKED_AT));

/** zlib's header (RFC 1950) begins so, and no honest raw stream does. Some servers send raw streams as `deflate`. */
const hasZlibHeader = ([first = 0]: Buffer): boolean => (first & 15) === 8;

/** In bytes: larger pieces take fewer turns of the event loop. */
const OPTIONS = { chunkSize: 65_536 };

/** @param body The first bytes: only the coding that was applied last can be recognised as a raw stream. */
const rowOf = (codings: readonly Coding[], body: Buffer): readonly Decoder[] =>
  codings.toReversed().map((coding, at): Decoder => {
    if (coding === "gzip") return createGunzip(OPTIONS);
    if (coding === "br") return createBrotliDecompress(OPTIONS);
    if (coding === "zstd") return createZstdDecompress(OPTIONS);
    return at > 0 || hasZlibHeader(body) ? createInflate(OPTIONS) : createInflateRaw(OPTIONS);
  });

function decodedAtOnce(body: Buffer, codings: readonly Coding[]): Buffer | "too large" | "broken" {
  if (body.length === 0) return body; // as of a refusal without text
  let decoded = body;
  try {
    for (const coding of codings.toReversed()) decoded = decodeStep(decoded, coding);
  } catch (error) {
    return (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE" ? "too large" : "broken";
  }
  return decoded;
}

function decodeStep(body: Buffer, coding: Coding): Buffer {
  const options = { maxOutputLength: SMALL_DECODED_BYTES };
  if (coding === "gzip") return gunzipSync(body, options);
  if (coding === "br") return brotliDecompressSync(body, options);
  if (coding === "zstd") return zstdDecompressSync(body, options);
  return hasZlibHeader(body) ? inflateSync(body, options) : inflateRawSync(body, options);
}
