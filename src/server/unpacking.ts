// Unpacks compressed bodies piece by piece, and stops as soon as one is too large, too deep, or packed
// tighter than any request is: a kilobyte may hold a megabyte of brackets.
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

/** Up to this many bytes it does not matter how tightly they were packed. */
const SMALL_BYTES = 65_536;
/** A batch of a thousand calls that differ in nothing but their ids is packed 40 times. */
const MOST_TIMES = 200;
/** Each takes memory of its own, whatever becomes of it. */
const MOST_AT_ONCE = 32;
const PIECE_BYTES = 16_384;

type Unpacker = Gunzip | Inflate | InflateRaw | BrotliDecompress;

export type Packing = { readonly encoding: string; readonly limit: number };

/**
 * @returns Whether a Content-Encoding means that a body is packed.
 * @throws RpcError 415 for an encoding that is not known.
 */
export function isPacked(encoding: string): boolean {
  const name = nameOf(encoding);
  if (name === "identity") return false;
  if (!unpackers[name])
    throw errors.unsupportedMediaType("unsupported content encoding, want gzip, br or deflate");
  return true;
}

export class Unpacking {
  #running = 0;
  /** Bodies whose turn has not come, in their order. No more than there are connections. */
  readonly #waiting: (() => void)[] = [];

  /**
   * @param how.limit In bytes, for what it unpacks to.
   * @param hold Is told of bytes that wait in memory, as they come.
   * @throws RpcError 413 over the limit, 400 for a broken or too deep one.
   */
  async unpack(body: Buffer, how: Packing, hold: (bytes: number) => void): Promise<Buffer> {
    if (this.#running >= MOST_AT_ONCE)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await unpack(body, how, hold);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

async function unpack(
  body: Buffer,
  { encoding, limit }: Packing,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  const stream = unpackers[nameOf(encoding)]?.(body);
  if (!stream) throw errors.parseError();
  const scan = new BodyScan({ depth: MAX_BODY_DEPTH, members: Number.POSITIVE_INFINITY });
  const most = Math.min(limit, Math.max(SMALL_BYTES, body.length * MOST_TIMES));
  const pieces: Buffer[] = [];
  let length = 0;
  stream.end(body);
  try {
    // Leaving the loop ends the stream.
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
const gzip = (): Unpacker => createGunzip(OPTIONS);
const unpackers: Readonly<Record<string, ((body: Buffer) => Unpacker) | undefined>> = {
  __proto__: null as never,
  gzip,
  "x-gzip": gzip,
  br: () => createBrotliDecompress(OPTIONS),
  // zlib streams begin with 0x78 for every window that clients use; some send a bare deflate stream.
  deflate: ([first]) => (first === 0x78 ? createInflate(OPTIONS) : createInflateRaw(OPTIONS)),
};
