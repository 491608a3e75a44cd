// The keys of the block store, and positions as bytes.

export type Position = { readonly number: number; readonly hash: string };

/** Parts of a block, each under the block's hash, its letter and the number of the piece. */
export type StoredPart = "outline" | "block" | "transactions" | "receipts" | "logs" | "uncles";
const LETTERS: Readonly<Record<StoredPart, number>> = {
  outline: 0x61,
  block: 0x62,
  transactions: 0x74,
  receipts: 0x72,
  logs: 0x6c,
  uncles: 0x75,
};

export function positionBytes({ number, hash }: Position): Buffer {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt32BE(number, 0);
  bytes.write(hash.slice(2), 4, "hex");
  return bytes;
}

export const positionIn = (bytes: Uint8Array): Position => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { number: buffer.readUInt32BE(0), hash: `0x${buffer.toString("hex", 4, 36)}` };
};

// Keys. Those in the hot path are written into buffers that are used again and again: LMDB copies them.

export const HEAD = Buffer.from("head");
export const TAIL = Buffer.from("tail");
export const noteKey = (name: string): Buffer => Buffer.from(`note ${name}`);

export const LEAVING = noteKey("leaving ");
export const BEHIND_LEAVING = noteKey("leaving!");
export const leavingKey = (position: Position): Buffer =>
  Buffer.concat([LEAVING, positionBytes(position)]);

const partKeyBytes = Buffer.alloc(35);
const hashKeyBytes = Buffer.alloc(32);
const numberKeyBytes = Buffer.alloc(4);
const termKeyBytes = Buffer.alloc(8);

export function partKey(hash: string | Buffer, part: StoredPart, piece = 0): Buffer {
  if (typeof hash === "string") partKeyBytes.write(hash.slice(2), 0, "hex");
  else partKeyBytes.set(hash);
  partKeyBytes.writeUInt8(LETTERS[part], 32);
  partKeyBytes.writeUInt16BE(piece, 33);
  return partKeyBytes;
}

/** What is kept of a transaction's traces, under its block's hash. */
export type StoredTracePosition = { readonly index: number; readonly part: TracePart };
type TracePart = "output" | "trace" | "stateDiff" | "vmTrace" | "more";
const TRACE_LETTERS: Readonly<Record<TracePart, number>> = {
  output: 0x6f,
  trace: 0x74,
  stateDiff: 0x64,
  vmTrace: 0x76,
  more: 0x6d,
};

export function traceKey(hash: string, { index, part }: StoredTracePosition): Buffer {
  const key = Buffer.alloc(37);
  key.write(hash.slice(2), 0, "hex");
  key.writeUInt32BE(index, 32);
  key.writeUInt8(TRACE_LETTERS[part], 36);
  return key;
}

/** Blocks, and the hash of what is searched in them. */
export type SegmentPlace = {
  readonly criteria: Uint8Array;
  readonly from: number;
  readonly to: number;
};

export const SEGMENT_KEY_BYTES = 40;

export function segmentKey({ criteria, from, to }: SegmentPlace): Buffer {
  const key = Buffer.alloc(SEGMENT_KEY_BYTES);
  key.set(criteria, 0);
  key.writeUInt32BE(from, 32);
  key.writeUInt32BE(to, 36);
  return key;
}

export function hashKey(hash: string): Buffer {
  hashKeyBytes.write(hash.slice(2), 0, "hex");
  return hashKeyBytes;
}

export function numberKey(number: number): Buffer {
  numberKeyBytes.writeUInt32BE(number, 0);
  return numberKeyBytes;
}

export function termKey(segment: number, term: number): Buffer {
  termKeyBytes.writeUInt32BE(segment, 0);
  termKeyBytes.writeUInt32BE(term, 4);
  return termKeyBytes;
}
