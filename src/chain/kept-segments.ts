// Keeps logs of final blocks older than the window as nodes gave them: one entry for each range of blocks and each set of
// criteria. Repeated queries are answered from these entries. The oldest entries are removed when there is no room.
import type { LogRange } from "../evm/log-filter.ts";
import {
  append,
  type BlockTables,
  bytesOf,
  compressed,
  type LogSegment,
  SEGMENT_KEY_BYTES,
  segmentKey,
  type Table,
} from "./block-tables.ts";

/** Share of the store's budget. The backfill leaves a tenth of the budget free, so these logs never displace blocks. */
const SHARE = 0.05;

/** Logs, and the upstreams that gave them; nothing else proves the logs. */
export type UpstreamLogs = { readonly json: Buffer; readonly upstreams: readonly string[] };

type SegmentOrigin = LogRange & {
  readonly upstreams: readonly string[];
};

/** Selects kept logs: of an upstream, of any upstream that is not in a list, of any block in a range, or all. */
export type SegmentSelector =
  | { readonly of: string }
  | { readonly ofOthersThan: readonly string[] }
  | { readonly within: LogRange }
  | "all";

function isSelected({ from, to, upstreams }: SegmentOrigin, selector: SegmentSelector): boolean {
  if (selector === "all") return true;
  if ("of" in selector) return upstreams.includes(selector.of);
  if ("within" in selector) return from <= selector.within.to && to >= selector.within.from;
  return upstreams.some((name) => !selector.ofOthersThan.includes(name));
}

export type KeptSegment = SegmentOrigin & { readonly bytes: number };

function originIn(entry: Buffer): SegmentOrigin {
  return {
    from: entry.readUInt32BE(32),
    to: entry.readUInt32BE(36),
    upstreams: JSON.parse(entry.toString("utf8", SEGMENT_KEY_BYTES)) as string[],
  };
}

/** The kept entries in order of arrival, with their bytes on disk. */
export const keptSegmentsOf = ({ segments, segmentOrder }: SegmentTables): KeptSegment[] =>
  [...segmentOrder.getRange({})].map(({ value }) => {
    const logs = segments.getBinaryFast(value.subarray(0, SEGMENT_KEY_BYTES));
    return { ...originIn(value), bytes: logs?.length ?? 0 };
  });

type SegmentTables = Pick<BlockTables, "segments" | "segmentOrder">;

type KeptSegmentsParts = {
  readonly tables: SegmentTables;
  /** The budget of the whole store. */
  readonly size: () => { readonly bytes: number };
};

/** Runs inside a transaction of the store. */
export class KeptSegments {
  readonly #logs: Table;
  /** Order of arrival → the key of the segment, and as JSON the names of the upstreams that gave the logs. */
  readonly #order: Table;
  readonly #size: KeptSegmentsParts["size"];

  constructor({ tables, size }: KeptSegmentsParts) {
    this.#logs = tables.segments;
    this.#order = tables.segmentOrder;
    this.#size = size;
  }

  put(segment: LogSegment, { json, upstreams }: UpstreamLogs): void {
    const key = segmentKey(segment);
    if (this.#logs.getBinaryFast(key)) return;
    this.#logs.putSync(key, compressed(json));
    append(this.#order, Buffer.concat([key, Buffer.from(JSON.stringify(upstreams))]));
    while (bytesOf(this.#logs) > this.#size().bytes * SHARE && this.removeOldest());
  }

  /** @returns How many entries were removed. */
  remove(selector: SegmentSelector): number {
    const all = [...this.#order.getRange({})];
    const going = all.filter(({ value }) => isSelected(originIn(value), selector));
    for (const { key, value } of going) {
      this.#logs.removeSync(value.subarray(0, SEGMENT_KEY_BYTES));
      this.#order.removeSync(key);
    }
    return going.length;
  }

  /** @returns false when there is no entry. */
  removeOldest(): boolean {
    const [oldest] = [...this.#order.getRange({ limit: 1 })];
    if (!oldest) return false;
    this.#logs.removeSync(oldest.value.subarray(0, SEGMENT_KEY_BYTES));
    this.#order.removeSync(oldest.key);
    return true;
  }
}
