// Writes RLP into one buffer, directly from the hex texts of JSON-RPC, without intermediate numbers or lists.

/** Writes items one after the other. A value that cannot be encoded makes the result invalid, but writing may go on. */
export class RlpWriter {
  #bytes = Buffer.allocUnsafe(1 << 10);
  #end = 0;
  #isValid = true;

  /** The offset of the next item. */
  get position(): number {
    return this.#end;
  }

  /** The bytes written from `start` on, as a view that is valid until the next write; undefined if they are invalid. */
  since(start: number): Buffer | undefined {
    return this.#isValid ? this.#bytes.subarray(start, this.#end) : undefined;
  }

  /** Discards the bytes written from `start` on, and any failure to encode a value. */
  rewind(start: number): void {
    this.#end = start;
    this.#isValid = true;
  }

  /** Writes a QUANTITY. Leading zeros, which some nodes write in `r` and `s`, are dropped. */
  quantity(text: unknown): void {
    if (isHexText(text) && text.length > 2) this.#hex(text, firstDigit(text), 32);
    else this.#fail();
  }

  /** Writes DATA, of exactly `length` bytes if given. */
  data(text: unknown, length?: number): void {
    const isWhole = isHexText(text) && text.length % 2 === 0;
    if (isWhole && (length === undefined || text.length === 2 + 2 * length)) this.#hex(text, 2);
    else this.#fail();
  }

  bytes(bytes: Uint8Array): void {
    const [first = 0] = bytes;
    this.#reserve(bytes.length);
    if (bytes.length !== 1 || first >= SHORT) this.#prefix(SHORT, bytes.length);
    this.raw(bytes);
  }

  /** Writes bytes that are already RLP, or the type byte before RLP. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Writes a list of the items that `writeItems` writes. */
  list(writeItems: () => void): void {
    const start = this.#end;
    writeItems();
    this.enlist(start);
  }

  /** Turns the items written from `start` on into one list. */
  enlist(start: number): void {
    const length = this.#end - start;
    const prefixLength = length < 56 ? 1 : 1 + byteLength(length);
    this.#reserve(prefixLength);
    this.#bytes.copyWithin(start + prefixLength, start, this.#end);
    this.#end = start;
    this.#prefix(LIST, length);
    this.#end += length;
  }

  /** Writes a list of the items, each by `writeItem`. A value that is not an array makes the result invalid. */
  listOf(items: unknown, writeItem: (item: unknown) => void): void {
    const members: readonly unknown[] = Array.isArray(items) ? items : [];
    if (members !== items) this.#fail();
    this.list(() => {
      for (const member of members) writeItem(member);
    });
  }

  /** Writes the digits from `first` on as bytes; an odd number of digits gets a leading zero. */
  #hex(text: string, first: number, most = Number.POSITIVE_INFINITY): void {
    const size = (text.length - first + 1) >> 1;
    if (size > most) {
      this.#fail();
      return;
    }
    this.#reserve(size);
    const start = this.#end;
    if (size !== 1) this.#prefix(SHORT, size);
    const isWritten = size > 32 ? this.#longHex(text, size) : this.#shortHex(text, first);
    const byte = this.#bytes[start] ?? 0;
    if (!isWritten) this.#fail();
    else if (size === 1 && byte >= SHORT) {
      this.#bytes[start] = SHORT + 1;
      this.#bytes[start + 1] = byte;
      this.#end += 1;
    }
  }

  /** Faster than `Buffer.write` for up to some 32 bytes. */
  #shortHex(text: string, first: number): boolean {
    const bytes = this.#bytes;
    let index = first;
    let wrong = 0;
    if ((text.length - first) % 2 === 1) {
      const digit = digitByCode[text.charCodeAt(index++)] ?? WRONG;
      wrong |= digit;
      bytes[this.#end++] = digit;
    }
    while (index < text.length) {
      const high = digitByCode[text.charCodeAt(index++)] ?? WRONG;
      const low = digitByCode[text.charCodeAt(index++)] ?? WRONG;
      wrong |= high | low;
      bytes[this.#end++] = (high << 4) | low;
    }
    return wrong < WRONG;
  }

  /** `Buffer.write` stops at a wrong ASCII digit, but reads other characters by their low byte. */
  #longHex(text: string, size: number): boolean {
    const written = this.#bytes.write(text.slice(2), this.#end, size, "hex");
    this.#end += written;
    return written === size && Buffer.byteLength(text) === text.length;
  }

  #prefix(kind: number, length: number): void {
    if (length < 56) {
      this.#bytes[this.#end++] = kind + length;
      return;
    }
    const size = byteLength(length);
    this.#bytes[this.#end++] = kind + 55 + size;
    this.#bytes.writeUIntBE(length, this.#end, size);
    this.#end += size;
  }

  /** Makes room for this many bytes and any RLP prefix. */
  #reserve(size: number): void {
    const wanted = this.#end + size + 9;
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(wanted, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }

  #fail(): void {
    this.#isValid = false;
  }
}

const SHORT = 0x80;
const LIST = 0xc0;
const ZERO = 0x30;
/** The value in `digitByCode` of a character that is not a hex digit. */
export const WRONG = 16;

export const digitByCode = new Uint8Array(128).fill(WRONG);
for (const [digit, text] of [..."0123456789abcdef"].entries()) {
  digitByCode[text.charCodeAt(0)] = digit;
  digitByCode[text.toUpperCase().charCodeAt(0)] = digit;
}

const isHexText = (text: unknown): text is string =>
  typeof text === "string" && text.startsWith("0x");

function firstDigit(text: string): number {
  let index = 2;
  while (text.charCodeAt(index) === ZERO) index += 1;
  return index;
}

const byteLength = (value: number): number =>
  value < 0x100 ? 1 : value < 0x1_0000 ? 2 : value < 0x100_0000 ? 3 : 4;
