// Compressed parts of blocks, unpacked: those of the last answers are held, since who asks for one receipt asks for
// its neighbours next, and what is found in a piece is read from it again when it is sent.
import { zstdDecompressSync } from "node:zlib";

const SLOTS = 32;
/** In bytes: what is larger is not held, so that all of it is at most twice 32 times that. */
const LARGEST = 65_536;

type Unpacked = { readonly packed: Buffer; readonly bytes: Buffer };

export class UnpackedParts {
  /** Found and compared by the compressed bytes: whatever is written to the store meanwhile, it is what they hold. */
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

/** By the last bytes, which are as good as chance. */
const slotOf = (packed: Buffer): number =>
  packed.length < 4 ? 0 : (packed.readUInt32LE(packed.length - 4) * 31 + packed.length) % SLOTS;
