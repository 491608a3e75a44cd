// Blocks that were taken and are not stored yet, in the thread that writes. The other thread names them by number.
import type { BlockRecord } from "../block-record.ts";

export class HeldBlocks {
  /** Oldest first. */
  readonly #records = new Map<number, BlockRecord>();
  #bytes = 0;
  readonly #most: number;

  /**
   * @param options.bytes When all blocks together take more, the oldest are forgotten; one block is held however large
   * it is.
   */
  constructor(options: { readonly bytes: number }) {
    this.#most = options.bytes;
  }

  hold(id: number, record: BlockRecord): void {
    this.#records.set(id, record);
    this.#bytes += bytesOf(record);
    for (const oldest of this.#records.keys()) {
      if (this.#bytes <= this.#most || oldest === id) return;
      this.forget(oldest);
    }
  }

  forget(id: number): void {
    const record = this.#records.get(id);
    if (!record) return;
    this.#records.delete(id);
    this.#bytes -= bytesOf(record);
  }

  /** Gives the block, which is held no longer. @throws When it was forgotten, or an earlier thread took it. */
  release(id: number): BlockRecord {
    const record = this.#records.get(id);
    if (!record) throw new Error("a block that was taken is not there any more");
    this.forget(id);
    return record;
  }
}

const bytesOf = ({ outline: { transactionBytes, receiptBytes } }: BlockRecord): number =>
  transactionBytes + receiptBytes;
