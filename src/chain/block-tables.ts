// The tables of the block store in one LMDB environment: their keys and values, and how the process that writes and any
// number of other processes read them.

import { randomBytes } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { type Database, open, type RootDatabase } from "lmdb";
import { makePrivateFolder, StoreUnavailable } from "../disk/environment-folder.ts";
import type { LogRange } from "../evm/log-filter.ts";
import {
  decodeOutline,
  type Outline,
  type Position,
  StoredBlock,
  type StoredPart,
} from "./stored-block.ts";

export type Table = Database<Buffer, Buffer>;

/**
 * Raised when older stores can no longer be read, or when older versions would misread a new one: a gateway refuses a
 * newer store, and builds an older one anew unless it can read it.
 */
export const STORE_FORMAT = 4;
/** Each store of this older format is a store of the present one, too: one in which all blocks have their receipts. */
const SUBSET_FORMAT = 3;
/** The name of the note with the format and the chain. Every version reads the note under this name. */
export const MADE_FOR = "made for";
/** The name of the note with the number and the hash of a block that the nodes called finalized. */
export const FINALIZED = "finalized";

/** Whether a store with this note is of the chain, and its blocks can be read. */
export const isOfChain = (madeFor: string | undefined, chainId: number): boolean =>
  madeFor === `${STORE_FORMAT} ${chainId}` || madeFor === `${SUBSET_FORMAT} ${chainId}`;

export type TablesOptions = {
  readonly path: string;
  readonly readOnly?: boolean | undefined;
  /** Whether only another thread or process writes: then blocks are cached in memory. Left out: as `readOnly`. */
  readonly isWrittenElsewhere?: boolean | undefined;
};

export class BlockTables {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** The head, the tail, and short texts. */
  readonly notes: Table;
  /** Parts of blocks. */
  readonly parts: Table;
  /** Block number → hash, of the window and of older blocks that were kept. */
  readonly canonical: Table;
  /** Transaction hash → block number and index, of canonical blocks. */
  readonly transactions: Table;
  /** Segment and term → postings. */
  readonly terms: Table;
  /** Number and hash of blocks that a reorg removed: filters report them while their number is in the window. */
  readonly dropped: Table;
  /** Order of arrival → number and hash, of kept blocks older than the window. */
  readonly kept: Table;
  /** Traces of transactions whose blocks are stored. */
  readonly traces: Table;
  /** Logs of old blocks that are not stored themselves; below, the order in which they came. */
  readonly segments: Table;
  readonly segmentOrder: Table;

  #head: { readonly bytes: Buffer; readonly position: Position } | undefined;
  /** The cache of blocks that were read under `#head`; undefined where this thread writes. */
  readonly #hot: HotBlocks | undefined;
  /** Whether the head was read in this turn, so that the cache is known to be valid. */
  #isHeadKnown = false;
  readonly #endTurn = (): void => {
    this.#isHeadKnown = false;
  };
  readonly #unpacked = new UnpackedParts();

  /** @throws StoreUnavailable when the store's format is newer; an error when the folder cannot be read or written. */
  constructor({ path, readOnly = false, isWrittenElsewhere = readOnly }: TablesOptions) {
    const binary = { encoding: "binary", keyEncoding: "binary" } as const;
    if (!readOnly) makePrivateFolder(path);
    if (isWrittenElsewhere) this.#hot = new HotBlocks();
    this.root = open<Buffer, Buffer>({
      ...{ path, noSubdir: false, readOnly, maxDbs: 10, ...binary },
      overlappingSync: false, // see docs/decisions/0072
      // Otherwise each failed write would leave a rejected promise that nobody can handle.
      eventTurnBatching: false,
    });
    if (!readOnly) makePrivateFolder(path); // also for the files that LMDB made just now
    const table = (name: string): Table => this.root.openDB<Buffer, Buffer>({ name, ...binary });
    this.notes = table("notes");
    this.#refuseNewer(path);
    this.parts = table("parts");
    this.canonical = table("canonical");
    this.transactions = table("transactions");
    this.terms = table("terms");
    this.dropped = table("dropped");
    this.kept = table("kept");
    this.traces = table("traces");
    this.segments = table("segments");
    this.segmentOrder = table("segment order");
  }

  #refuseNewer(path: string): void {
    const format = Number(this.note(MADE_FOR)?.split(" ")[0] ?? 0);
    if (format <= STORE_FORMAT) return;
    void this.root.close();
    throw new StoreUnavailable(
      `data: the store in ${path} is of format ${format}, and this version of Headgate knows formats up to ${STORE_FORMAT}: a newer version has written it. ` +
        "Run that version or a later one, or move the folder away to have it built anew from the nodes (docs/upgrading.md)",
    );
  }

  async close(): Promise<void> {
    await this.root.close();
  }

  #readHead(bytes: Buffer): Position {
    const own = Buffer.from(bytes.subarray(0, bytes.length));
    this.#head = { bytes: own, position: positionIn(own) };
    this.#hot?.forget();
    return this.#head.position;
  }

  // Reading. All reads of one synchronous turn see the same state of the store.

  /** Lets later reads see the writes of other processes, even within this turn. */
  refresh(): void {
    this.root.resetReadTxn();
    this.#isHeadKnown = false;
  }

  /** A short text that is kept beside the blocks. */
  note(name: string): string | undefined {
    return this.notes.get(noteKey(name))?.toString();
  }

  /** Whether the store is of the chain, and its blocks can be read. */
  fitsChain(chainId: number): boolean {
    return isOfChain(this.note(MADE_FOR), chainId);
  }

  /** The canonical block that nodes called finalized when they were asked last; undefined when none is known. */
  finalized(): Position | undefined {
    const [number, hash] = this.note(FINALIZED)?.split(" ") ?? [];
    const position = hash === undefined ? undefined : { number: Number(number), hash };
    return position && this.hashAt(position.number) === hash ? position : undefined;
  }

  /** The newest canonical block; undefined while the store is empty. */
  get head(): Position | undefined {
    return this.#isHeadKnown ? this.#head?.position : this.#lookAtHead();
  }

  #lookAtHead(): Position | undefined {
    const bytes = this.notes.getBinaryFast(HEAD);
    if (!bytes) return undefined;
    const isSame = this.#head && isBeginning(this.#head.bytes, bytes);
    const position = isSame ? this.#head?.position : this.#readHead(bytes);
    if (this.#hot) {
      this.#isHeadKnown = true;
      queueMicrotask(this.#endTurn);
    }
    return position;
  }

  /** The cache, if it is valid under the present head. */
  #hotNow(): HotBlocks | undefined {
    return this.#hot && (this.#isHeadKnown || this.#lookAtHead()) ? this.#hot : undefined;
  }

  /** The lowest number from which every block up to the head is stored. */
  get tail(): number | undefined {
    return this.notes.getBinaryFast(TAIL)?.readUInt32BE(0);
  }

  /** The canonical block's hash; undefined when the block is not stored. */
  hashAt(number: number): string | undefined {
    const bytes = this.canonical.getBinaryFast(numberKey(number));
    return bytes && `0x${bytes.toString("hex", 0, 32)}`;
  }

  /** The canonical block's hash as 32 bytes, for reading parts of many blocks. */
  hashBytesAt(number: number): Buffer | undefined {
    const bytes = this.canonical.getBinaryFast(numberKey(number));
    return bytes && Buffer.from(bytes.subarray(0, 32));
  }

  outline(hash: string): Outline | undefined {
    const bytes = this.part(hash, "outline");
    return bytes && decodeOutline(bytes);
  }

  /** Any stored block, canonical or not. */
  blockOf(hash: string): StoredBlock | undefined {
    const outline = this.outline(hash);
    return outline && new StoredBlock({ hash: hash.toLowerCase(), outline }, { store: this });
  }

  /** The canonical block; undefined when it is not stored. */
  blockAt(number: number): StoredBlock | undefined {
    const hot = this.#hotNow();
    const held = hot?.block(number);
    if (held) return held;
    const hash = this.hashAt(number);
    const block = hash === undefined ? undefined : this.blockOf(hash);
    if (block) hot?.hold(block);
    return block;
  }

  /** The number of a canonical transaction's block, and the transaction's index there. */
  transactionPosition(hash: string): { number: number; index: number } | undefined {
    const hot = this.#hotNow();
    const held = hot?.position(hash);
    if (held) return held;
    const bytes = this.transactions.getBinaryFast(hashKey(hash));
    if (!bytes) return undefined;
    const position = { number: bytes.readUInt32BE(0), index: bytes.readUInt32BE(4) };
    const block = hot && this.blockAt(position.number);
    if (block) hot.sawLook(block);
    return position;
  }

  /** One part of a block. @returns Bytes that are valid until the next read: copy them to keep them. */
  part(hash: string | Buffer, part: StoredPart, piece = 0): Buffer | undefined {
    if (part !== "receipts" && part !== "transactions") return this.#readPart(hash, part, piece);
    const pieces = this.#hotNow()?.pieces;
    if (!pieces) return this.#readPart(hash, part, piece);
    const name = typeof hash === "string" ? hash : `0x${hash.toString("hex")}`;
    const held = pieces.get(name, part, piece);
    if (held) return held;
    const bytes = this.#readPart(hash, part, piece);
    if (bytes) pieces.sawPiece(name, part, piece, bytes);
    return bytes;
  }

  #readPart(hash: string | Buffer, part: StoredPart, piece: number): Buffer | undefined {
    const stored = this.parts.getBinaryFast(partKey(hash, part, piece));
    const bytes = restOf(stored);
    return bytes && isCompressed(stored) ? this.#unpacked.unpack(bytes) : bytes;
  }

  /** Whether a block's parts are encoded as `packed`. This looks at the part that `BlockEntries.pack` compresses last. */
  isPacked(hash: string | Buffer): boolean {
    return isCompressed(this.parts.getBinaryFast(partKey(hash, "block")));
  }

  /** The blocks of a segment that have a term (`log-index.ts`). The bytes are valid until the next read. */
  postings(segment: number, term: number): Buffer | undefined {
    return viewOf(this.terms.getBinaryFast(termKey(segment, term)));
  }

  /** The JSON of a trace that was kept with its block. */
  trace(hash: string, position: StoredTracePosition): Buffer | undefined {
    const json = unpack(this.traces.getBinaryFast(traceKey(hash, position)));
    return json && Buffer.from(json);
  }

  /** The JSON of logs that were kept of blocks older than the window. */
  segment(segment: LogSegment): Buffer | undefined {
    const json = unpack(this.segments.getBinaryFast(segmentKey(segment)));
    return json && Buffer.from(json);
  }

  /** How many bytes of disk the blocks and their indexes take, without pages that were freed and not used again. */
  get bytes(): number {
    return this.#ofBlocks.reduce((sum, table) => sum + bytesOf(table), 0);
  }

  // Writing: these functions run inside a transaction.

  putHead(position: Position): void {
    this.notes.putSync(HEAD, Buffer.concat([positionBytes(position), randomBytes(MARK_BYTES)]));
  }

  /** Makes all processes empty their caches, after a block was erased: it may come back in other pieces. */
  forgetRead(): void {
    const { head } = this;
    if (head) this.putHead(head);
  }

  putTail(number: number): void {
    this.notes.putSync(TAIL, Buffer.from(numberKey(number)));
  }

  /** Notes a huge block that is erased step by step from now on. */
  putErasing(position: Position, wasCanonical: boolean): void {
    this.notes.putSync(erasingKey(position), Buffer.from(wasCanonical ? [1] : [0]));
  }

  removeErasing(position: Position): void {
    this.notes.removeSync(erasingKey(position));
  }

  /** The huge blocks that are being erased. */
  erasing(): { readonly position: Position; readonly wasCanonical: boolean }[] {
    const found = [...this.notes.getRange({ start: ERASING, end: BEHIND_ERASING })];
    return found.map(({ key, value }) => ({
      position: positionIn(key.subarray(ERASING.length)),
      wasCanonical: value[0] === 1,
    }));
  }

  get isErasing(): boolean {
    const range = { start: ERASING, end: BEHIND_ERASING, limit: 1 };
    return [...this.notes.getKeys(range)].length > 0;
  }

  /** Removes all blocks; the notes stay. */
  clear(): void {
    for (const { position } of this.erasing()) this.removeErasing(position);
    for (const table of this.#ofBlocks) table.clearSync();
    this.notes.removeSync(HEAD);
    this.notes.removeSync(TAIL);
  }

  get #ofBlocks(): readonly Table[] {
    const { parts, canonical, transactions, terms, dropped, kept, traces } = this;
    const ofBlocks = [parts, canonical, transactions, terms, dropped, kept, traces];
    return [...ofBlocks, this.segments, this.segmentOrder];
  }
}

// The cache of blocks that callers ask for again and again. Where another thread or process writes the store, the cache
// is valid while the head stays as it was: a writer that drops, erases or replaces a block writes the head anew.

/** How many blocks are cached after a read: a block of mainnet takes less than a kilobyte. */
const MOST_BLOCKS = 128;
/** A block with more transactions than this gets no positions: finding one is not worth reading all of them. */
const MOST_OF_BLOCK = 1_000;
/** At most this many positions are read for each transaction that was looked up: that takes as long as three lookups. */
const READ_FOR_ONE = 16;
/** How many positions of transactions are cached; each takes about 200 bytes. */
const MOST_POSITIONS = 20_000;

type TransactionPosition = { readonly number: number; readonly index: number };
type HotBlock = {
  readonly block: StoredBlock;
  /** How many of the block's transactions were looked up in the store. */
  looks: number;
};

/** Caches blocks and the positions of their transactions, until the head is written. */
export class HotBlocks {
  /** The blocks, each at its number modulo `MOST_BLOCKS`. */
  #blocks: (HotBlock | undefined)[] = [];
  /** Transaction hash → the block's number times `MOST_OF_BLOCK`, and the index. */
  readonly #positions = new Map<string, number>();
  readonly pieces = new HotPieces();

  forget(): void {
    this.#blocks = [];
    if (this.#positions.size > 0) this.#positions.clear();
    this.pieces.forget();
  }

  block(number: number): StoredBlock | undefined {
    const hot = this.#blocks[number % MOST_BLOCKS];
    return hot?.block.number === number ? hot.block : undefined;
  }

  hold(block: StoredBlock): void {
    this.#blocks[block.number % MOST_BLOCKS] = { block, looks: 0 };
  }

  position(transaction: string): TransactionPosition | undefined {
    const position = this.#positions.get(transaction);
    if (position === undefined) return undefined;
    return { number: Math.floor(position / MOST_OF_BLOCK), index: position % MOST_OF_BLOCK };
  }

  /**
   * Counts a lookup of a transaction of this block in the store. A caller that asks for some transactions of a block asks
   * for all, so the second lookup caches all positions; for a large block only when the lookups are worth reading them.
   */
  sawLook(block: StoredBlock): void {
    const { number } = block;
    const hot = this.#blocks[number % MOST_BLOCKS];
    if (hot?.block !== block) return;
    hot.looks += 1;
    const { transactions } = block.outline;
    if (transactions > MOST_OF_BLOCK || hot.looks < 2) return;
    if (hot.looks * READ_FOR_ONE < transactions) return;
    hot.looks = 0;
    if (this.#positions.size + transactions > MOST_POSITIONS) this.#positions.clear();
    for (const [index, hash] of block.transactionHashes().entries())
      this.#positions.set(hash, number * MOST_OF_BLOCK + index);
  }
}

/** Larger pieces are not cached; in bytes. */
const LARGEST_PIECE = 40_960;
/** How many pieces all networks together cache: 10 MiB. */
const MOST_PIECES = 256;
/** Of how many blocks, for each kind of list, the cache knows which pieces were read. */
const MOST_LISTS = 512;

type List = "receipts" | "transactions";
/** For each piece of a list: its bytes, or `seen` after the first read. */
type Pieces = (Buffer | "seen" | undefined)[];

/**
 * Caches pieces that were read more than once: a caller that asks for one receipt asks for its neighbours next. The first
 * read caches nothing, since one log query may read hundreds of pieces.
 */
export class HotPieces {
  readonly #lists = {
    receipts: new Map<string, Pieces>(),
    transactions: new Map<string, Pieces>(),
  };
  forget(): void {
    for (const list of Object.values(this.#lists)) if (list.size > 0) list.clear();
  }

  /** @returns Bytes that are valid until the next piece is read. */
  get(hash: string, list: List, piece: number): Buffer | undefined {
    const bytes = this.#lists[list].get(hash)?.[piece];
    return bytes === "seen" ? undefined : bytes;
  }

  /** Notes the read of a piece that `get` does not have. @param bytes The bytes of that piece. */
  sawPiece(hash: string, list: List, piece: number, bytes: Buffer): void {
    if (bytes.length > LARGEST_PIECE) return;
    const ofList = this.#lists[list];
    let pieces = ofList.get(hash);
    if (!pieces) {
      if (ofList.size === MOST_LISTS) ofList.clear();
      pieces = [];
      ofList.set(hash, pieces);
    }
    // A caller that reads one piece item by item goes on with the next piece in the same way.
    const isRead = pieces[piece] === "seen" || Buffer.isBuffer(pieces[piece - 1]);
    pieces[piece] = isRead ? slotWith(bytes, pieces, piece) : "seen";
  }
}

/** The memory of all cached pieces, reused in rotation, each slot with the list that has it. */
const pieceSlots: { readonly room: Buffer; readonly pieces: Pieces; readonly piece: number }[] = [];
let nextSlot = 0;

function slotWith(bytes: Buffer, pieces: Pieces, piece: number): Buffer {
  const slot = pieceSlots[nextSlot];
  if (slot) slot.pieces[slot.piece] = undefined;
  const room = slot?.room ?? Buffer.allocUnsafeSlow(LARGEST_PIECE);
  bytes.copy(room);
  pieceSlots[nextSlot] = { room, pieces, piece };
  nextSlot = (nextSlot + 1) % MOST_PIECES;
  return room.subarray(0, bytes.length);
}

const UNPACKED_SLOTS = 32;
/** Larger parts are not cached, so that all cached parts take at most twice 32 times this; in bytes. */
const LARGEST_UNPACKED = 65_536;

type Unpacked = { readonly packed: Buffer; readonly bytes: Buffer };

/** Caches the parts that were decompressed last: a log query reads a piece to find its logs, and again to send them. */
export class UnpackedParts {
  /** Found by the compressed bytes, and compared with them, so a change of the store cannot make an entry wrong. */
  readonly #slots: (Unpacked | undefined)[] = [];

  /** @returns Bytes that the caller must not change. @throws When the part is not compressed, or cut off. */
  unpack(small: Buffer): Buffer {
    const slot = slotOf(small);
    const known = this.#slots[slot];
    if (known?.packed.equals(small)) return known.bytes;
    const bytes = zstdDecompressSync(small);
    if (bytes.length <= LARGEST_UNPACKED && small.length <= LARGEST_UNPACKED)
      this.#slots[slot] = { packed: Buffer.from(small), bytes };
    return bytes;
  }
}

/** The slot of a compressed part, by its last bytes, which are as good as random. */
const slotOf = (small: Buffer): number =>
  small.length < 4
    ? 0
    : (small.readUInt32LE(small.length - 4) * 31 + small.length) % UNPACKED_SLOTS;

const POSITION_BYTES = 36;
/** The random bytes behind the head's position; each write of the head makes new ones. */
const MARK_BYTES = 4;

/** Whether `bytes` begins with `beginning`. For few bytes the loop is faster than `compare`. */
function isBeginning(beginning: Buffer, bytes: Buffer): boolean {
  for (let at = 0; at < beginning.length; at += 1) if (beginning[at] !== bytes[at]) return false;
  return true;
}

/** The bytes that a table takes on disk. */
export function bytesOf(table: Table): number {
  const {
    treeBranchPageCount = 0,
    treeLeafPageCount = 0,
    overflowPages = 0,
    pageSize = 4096,
  } = table.getStats() as Record<string, number>;
  return (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize;
}

/** Appends a value to a table whose keys are the order of arrival. */
export function append(table: Table, value: Buffer): void {
  const [last] = [...table.getKeys({ reverse: true, limit: 1 })];
  table.putSync(numberKey((last?.readUInt32BE(0) ?? 0) + 1), value);
}

// How the parts of blocks are written to disk.

/** The fast read of lmdb gives a larger buffer that only claims to have this length. */
const viewOf = (bytes: Buffer | undefined): Buffer | undefined => bytes?.subarray(0, bytes.length);

// The first byte of each part says how the rest is encoded. Compression makes a block four times smaller, but reading a
// piece takes 24 µs longer (decision 44): compression pays for old blocks.

const PLAIN = Buffer.of(0);
const COMPRESSED = Buffer.of(1);
const SPEED = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const plain = (bytes: Buffer): Buffer => Buffer.concat([PLAIN, bytes]);
export const compressed = (bytes: Buffer): Buffer =>
  Buffer.concat([COMPRESSED, zstdCompressSync(bytes, SPEED)]);

/** How the parts of a block are written. */
export type PartEncoding = (part: StoredPart, bytes: Buffer) => Buffer;

export const asTheyAre: PartEncoding = (_part, bytes) => plain(bytes);
/** The parts that a log query reads of each candidate block stay uncompressed. */
export const packed: PartEncoding = (part, bytes) =>
  part === "outline" || part === "logs" ? plain(bytes) : compressed(bytes);

/** @param stored A value as the fast read of lmdb gives it. */
const unpack = (stored: Buffer | undefined): Buffer | undefined => {
  const rest = restOf(stored);
  return rest && isCompressed(stored) ? zstdDecompressSync(rest) : rest;
};

const isCompressed = (stored: Buffer | undefined): boolean => stored?.[0] === COMPRESSED[0];
const restOf = (stored: Buffer | undefined): Buffer | undefined =>
  stored?.subarray(1, stored.length);

// The keys of the block store, and positions as bytes.

/** The key of a part is the block's hash, the part's letter and the number of the piece. */
const LETTERS: Readonly<Record<StoredPart, number>> = {
  outline: 0x61,
  block: 0x62,
  transactions: 0x74,
  receipts: 0x72,
  logs: 0x6c,
  uncles: 0x75,
};

export function positionBytes({ number, hash }: Position): Buffer {
  const bytes = Buffer.alloc(POSITION_BYTES);
  bytes.writeUInt32BE(number, 0);
  bytes.write(hash.slice(2), 4, "hex");
  return bytes;
}

export const positionIn = (bytes: Uint8Array): Position => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { number: buffer.readUInt32BE(0), hash: `0x${buffer.toString("hex", 4, 36)}` };
};

// Keys. The frequent ones are written into buffers that are reused, since LMDB copies them.

const HEAD = Buffer.from("head");
const TAIL = Buffer.from("tail");
export const noteKey = (name: string): Buffer => Buffer.from(`note ${name}`);

const ERASING = noteKey("leaving ");
const BEHIND_ERASING = noteKey("leaving!");
const erasingKey = (position: Position): Buffer =>
  Buffer.concat([ERASING, positionBytes(position)]);

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

/** The position of a transaction's traces under its block's hash. */
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

/** A range of blocks, and the hash of the criteria of a log query. */
export type LogSegment = LogRange & { readonly criteria: Uint8Array };

export const SEGMENT_KEY_BYTES = 40;

export function segmentKey({ criteria, from, to }: LogSegment): Buffer {
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
