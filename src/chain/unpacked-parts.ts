// Holds the compressed parts that were unpacked last. Whoever asks for one receipt asks for its neighbours next, and
// logs that were found in a piece are read from it again when they are sent.
import { zstdDecompressSync } from "node:zlib";

const SLOTS = 32;
/** Larger parts are not held, so that all of them take at most twice 32 times this; in bytes. */
const LARGEST = 65_536;

type Unpacked = { readonly packed: Buffer; readonly bytes: Buffer };

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
