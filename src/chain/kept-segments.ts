// Logs of final blocks that are older than the window, as nodes told them: one entry for each segment of
// blocks and what was searched in it. Asked for again, they are here; what is short of room, leaves.
import { append, bytesOf, type Table } from "./block-tables.ts";
import { compressed, unpack, viewOf } from "./packing.ts";
import { type SegmentPlace, segmentKey } from "./store-keys.ts";

/** Of the store's budget. The window is not filled above nine tenths: these never displace it. */
const SHARE = 0.05;

export class KeptSegments {
  readonly #logs: Table;
  /** Order of arrival → the key of the segment. */
  readonly #order: Table;
  #bytes = 0;

  /** @param options.bytes The budget of the whole store. */
  constructor({ bytes }: { bytes: number }, { logs, order }: { logs: Table; order: Table }) {
    this.#logs = logs;
    this.#order = order;
    this.resize({ bytes });
  }

  resize({ bytes }: { bytes: number }): void {
    this.#bytes = bytes * SHARE;
  }

  get(place: SegmentPlace): Buffer | undefined {
    const stored = viewOf(this.#logs.getBinaryFast(segmentKey(place)));
    return stored && Buffer.from(unpack(stored));
  }

  // Writing: inside a transaction of the store.

  put(place: SegmentPlace, json: Buffer): void {
    const key = segmentKey(place);
    if (this.#logs.getBinaryFast(key)) return;
    this.#logs.putSync(key, compressed(json));
    append(this.#order, key);
    while (bytesOf(this.#logs) > this.#bytes && this.removeOldest());
  }

  /** @returns false when there is none. */
  removeOldest(): boolean {
    const [oldest] = [...this.#order.getRange({ limit: 1 })];
    if (!oldest) return false;
    this.#logs.removeSync(oldest.value);
    this.#order.removeSync(oldest.key);
    return true;
  }
}
