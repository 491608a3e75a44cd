// Decompresses bodies piece by piece, and stops as soon as a body is too large, nested too deeply, or compressed more
// tightly than any honest request: a kilobyte may hold a megabyte of brackets.
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from "node:zlib";
import { TOO_DEEP } from "../jsonrpc/ambiguity.ts";
import { BodyScan } from "../jsonrpc/body-scan.ts";
import { MAX_BODY_DEPTH } from "../jsonrpc/request.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";

/** In bytes: a body that decompresses to no more has no limit of compression. */
const SMALL_BYTES = 65_536;
/** The highest ratio of compression. A batch of a thousand calls that differ only in their ids has a ratio of 40. */
const MOST_TIMES = 200;
/** The most bodies that are decompressed at once, since each decompressor takes memory. */
const MOST_AT_ONCE = 32;
const PIECE_BYTES = 16_384;

type Decompressor = Gunzip | Inflate | InflateRaw | BrotliDecompress;

export type DecompressionOptions = { readonly encoding: string; readonly limit: number };

/** Whether a Content-Encoding says that the body is compressed. @throws RpcError 415 for an unknown encoding. */
export function isCompressed(encoding: string): boolean {
  const name = nameOf(encoding);
  if (name === "identity") return false;
  if (!decompressors[name])
    throw errors.unsupportedMediaType("unsupported content encoding, want gzip, br or deflate");
  return true;
}

export class Decompression {
  #running = 0;
  /** The bodies that wait for their turn, in order. */
  readonly #waiting: (() => void)[] = [];

  /**
   * @param how.limit The most bytes of the decompressed body.
   * @param hold Counts the decompressed bytes, which wait in memory, as they come.
   * @throws RpcError 413 over the limit, 400 for a body that is broken or nested too deeply.
   */
  async decompress(
    body: Buffer,
    how: DecompressionOptions,
    hold: (bytes: number) => void,
  ): Promise<Buffer> {
    if (this.#running >= MOST_AT_ONCE)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await decompress(body, how, hold);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

async function decompress(
  body: Buffer,
  { encoding, limit }: DecompressionOptions,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  const stream = decompressors[nameOf(encoding)]?.(body);
  if (!stream) throw errors.parseError();
  const scan = new BodyScan({ depth: MAX_BODY_DEPTH, members: Number.POSITIVE_INFINITY });
  const most = Math.min(limit, Math.max(SMALL_BYTES, body.length * MOST_TIMES));
  const pieces: Buffer[] = [];
  let length = 0;
  stream.end(body);
  try {
    // A throw in the loop destroys the stream.
    for await (const piece of stream as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > most) throw errors.bodyTooLarge();
      if (scan.take(piece) === "too deep") throw errors.invalidRequest(TOO_DEEP);
      hold(piece.length);
      pieces.push(piece);
    }
  } catch (cause) {
    throw cause instanceof RpcError ? cause : errors.parseError(cause);
  }
  return Buffer.concat(pieces, length);
}

const nameOf = (encoding: string): string => encoding.trim().toLowerCase();

const OPTIONS = { chunkSize: PIECE_BYTES };
const gzip = (): Decompressor => createGunzip(OPTIONS);
const decompressors: Readonly<Record<string, ((body: Buffer) => Decompressor) | undefined>> = {
  __proto__: null as never,
  gzip,
  "x-gzip": gzip,
  br: () => createBrotliDecompress(OPTIONS),
  // zlib streams of the usual 32 KiB window begin with 0x78; some clients send a raw deflate stream without that header.
  deflate: ([first]) => (first === 0x78 ? createInflate(OPTIONS) : createInflateRaw(OPTIONS)),
};
