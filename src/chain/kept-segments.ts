// Logs of final blocks that are older than the window, as nodes told them: one entry for each segment of
// blocks and what was searched in it. Asked for again, they are here; what is short of room, leaves.
import type { Database } from "lmdb";
import { compressed, unpack, viewOf } from "./packing.ts";
import { numberKey, type SegmentPlace, segmentKey } from "./store-keys.ts";

type Segments = Database<Buffer, Buffer>;

/** Of the store's budget. The window is not filled above nine tenths: these never displace it. */
const SHARE = 0.05;

export class KeptSegments {
  readonly #logs: Segments;
  /** Order of arrival → the key of the segment. */
  readonly #order: Segments;
  #bytes = 0;

  /** @param options.bytes The budget of the whole store. */
  constructor({ bytes }: { bytes: number }, { logs, order }: { logs: Segments; order: Segments }) {
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
    const last = [...this.#order.getKeys({ reverse: true, limit: 1 })][0];
    this.#order.putSync(numberKey((last?.readUInt32BE(0) ?? 0) + 1), key);
    while (this.#isOverShare() && this.removeOldest());
  }

  /** @returns false when there is none. */
  removeOldest(): boolean {
    const [oldest] = [...this.#order.getRange({ limit: 1 })];
    if (!oldest) return false;
    this.#logs.removeSync(oldest.value);
    this.#order.removeSync(oldest.key);
    return true;
  }

  #isOverShare(): boolean {
    const stats = this.#logs.getStats() as Record<string, number>;
    const {
      treeBranchPageCount = 0,
      treeLeafPageCount = 0,
      overflowPages = 0,
      pageSize = 4096,
    } = stats;
    return (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize > this.#bytes;
  }
}
