// How the parts of blocks are written to disk.
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** What lmdb gives quickly is a part of a larger buffer that only pretends to have its length. */
export const viewOf = (bytes: Buffer | undefined): Buffer | undefined =>
  bytes?.subarray(0, bytes.length);

// Of each part, the first byte says how the rest is written. Compression makes a block four times
// smaller and reading a piece twenty times slower (docs/performance.md): it pays for old blocks.

const PLAIN = Buffer.of(0);
const COMPRESSED = Buffer.of(1);
const SPEED = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export const plain = (bytes: Buffer): Buffer => Buffer.concat([PLAIN, bytes]);
export const compressed = (bytes: Buffer): Buffer =>
  Buffer.concat([COMPRESSED, zstdCompressSync(bytes, SPEED)]);

export const unpack = (stored: Buffer): Buffer =>
  stored[0] === 1 ? zstdDecompressSync(stored.subarray(1)) : stored.subarray(1);
