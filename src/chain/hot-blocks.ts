// What is held in memory of the blocks that callers ask for again and again. Where another thread or process writes the
// store, all of it is as true as the head it was read under: whoever drops, erases or replaces a block writes the head anew.
import { zstdDecompressSync } from "node:zlib";
import type { StoredBlock } from "./stored-block.ts";

/** How many blocks are held after they were read: one of mainnet takes less than a kilobyte. */
const MOST_BLOCKS = 128;
/** In transactions: finding one of more is not worth reading all of them. */
const MOST_OF_BLOCK = 1_000;
/** So many are read for each one that was looked for, at most: it takes as long as three looks into the store. */
const READ_FOR_ONE = 16;
/** In transactions, each of which takes about 200 bytes. */
const MOST_PLACES = 20_000;

type Place = { readonly number: number; readonly index: number };
type HotBlock = {
  readonly block: StoredBlock;
  /** How many of its transactions were looked for in the store. */
  looks: number;
};

/** All of it is forgotten when the head is written. */
export class HotBlocks {
  /** By the last bits of their number. */
  #blocks: (HotBlock | undefined)[] = [];
  /** Transaction hash → the block's number times `MOST_OF_BLOCK`, and the index. */
  readonly #places = new Map<string, number>();
  readonly pieces = new HotPieces();

  forget(): void {
    this.#blocks = [];
    if (this.#places.size > 0) this.#places.clear();
    this.pieces.forget();
  }

  block(number: number): StoredBlock | undefined {
    const hot = this.#blocks[number % MOST_BLOCKS];
    return hot?.block.number === number ? hot.block : undefined;
  }

  hold(block: StoredBlock): void {
    this.#blocks[block.number % MOST_BLOCKS] = { block, looks: 0 };
  }

  place(transaction: string): Place | undefined {
    const place = this.#places.get(transaction);
    if (place === undefined) return undefined;
    return { number: Math.floor(place / MOST_OF_BLOCK), index: place % MOST_OF_BLOCK };
  }

  /**
   * A transaction of this block was looked for in the store: who asks for some of a block asks for all of them. From the
   * second one on the places of all are held, of a large block once enough were looked for to be worth reading them.
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
    if (this.#places.size + transactions > MOST_PLACES) this.#places.clear();
    for (const [index, hash] of block.transactionHashes().entries())
      this.#places.set(hash, number * MOST_OF_BLOCK + index);
  }
}

/** In bytes: larger pieces are not held. */
const LARGEST_PIECE = 40_960;
/** So many pieces are held at once, of all networks: 10 MiB. */
const MOST_PIECES = 256;
/** Of so many blocks and lists it is known which pieces were read. */
const MOST_LISTS = 512;

type List = "receipts" | "transactions";
/** Of each piece of a list: its bytes, or that it was read once. */
type Pieces = (Buffer | "seen" | undefined)[];

/**
 * Pieces of blocks that were read more than once: who asks for one receipt asks for its neighbours next. Read once, a piece is
 * not held, since one query of logs may read hundreds.
 */
export class HotPieces {
  readonly #lists = {
    receipts: new Map<string, Pieces>(),
    transactions: new Map<string, Pieces>(),
  };
  forget(): void {
    for (const list of Object.values(this.#lists)) if (list.size > 0) list.clear();
  }

  /** @returns Bytes that last until the next piece is read. */
  get(hash: string, list: List, piece: number): Buffer | undefined {
    const bytes = this.#lists[list].get(hash)?.[piece];
    return bytes === "seen" ? undefined : bytes;
  }

  /** @param bytes Of a piece that `get` does not have. */
  sawPiece(hash: string, list: List, piece: number, bytes: Buffer): void {
    if (bytes.length > LARGEST_PIECE) return;
    const ofList = this.#lists[list];
    let pieces = ofList.get(hash);
    if (!pieces) {
      if (ofList.size === MOST_LISTS) ofList.clear();
      pieces = [];
      ofList.set(hash, pieces);
    }
    // Whoever reads one piece item by item goes on so with the next.
    const isRead = pieces[piece] === "seen" || Buffer.isBuffer(pieces[piece - 1]);
    pieces[piece] = isRead ? slotWith(bytes, pieces, piece) : "seen";
  }
}

/** The memory of the pieces, used in turns, and who has it. */
const slots: { readonly room: Buffer; readonly pieces: Pieces; readonly piece: number }[] = [];
let next = 0;

function slotWith(bytes: Buffer, pieces: Pieces, piece: number): Buffer {
  const slot = slots[next];
  if (slot) slot.pieces[slot.piece] = undefined;
  const room = slot?.room ?? Buffer.allocUnsafeSlow(LARGEST_PIECE);
  bytes.copy(room);
  slots[next] = { room, pieces, piece };
  next = (next + 1) % MOST_PIECES;
  return room.subarray(0, bytes.length);
}

const SLOTS = 32;
/** Larger parts are not held, so that all of them take at most twice 32 times this; in bytes. */
const LARGEST = 65_536;

type Unpacked = { readonly packed: Buffer; readonly bytes: Buffer };

/** Holds the compressed parts that were unpacked last: logs that were found in a piece are read from it again when they are sent. */
export class UnpackedParts {
  /** Found by the compressed bytes, and compared with them, so a change of the store cannot make them wrong. */
  readonly #slots: (Unpacked | undefined)[] = [];

  /** @returns Bytes that nobody may change. @throws When it is not compressed, or cut off. */
  unpack(packed: Buffer): Buffer {
    const slot = slotOf(packed);
    const known = this.#slots[slot];
    if (known?.packed.equals(packed)) return known.bytes;
    const bytes = zstdDecompressSync(packed);
    if (bytes.length <= LARGEST && packed.length <= LARGEST)
      this.#slots[slot] = { packed: Buffer.from(packed), bytes };
    return bytes;
  }
}

/** The last bytes are as good as random. */
const slotOf = (packed: Buffer): number =>
  packed.length < 4 ? 0 : (packed.readUInt32LE(packed.length - 4) * 31 + packed.length) % SLOTS;
