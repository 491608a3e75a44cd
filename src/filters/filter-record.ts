// A filter as it is kept: what it asks for, and how far its client was told.
import type { Position } from "../chain/block-record.ts";
import type { EpochLogFilter } from "../conflux/epoch-logs.ts";
import type { LogFilter } from "../evm/log-filter.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";

/** Which of them is the network's family's. */
export type Criteria = LogFilter | EpochLogFilter;

/** What a filter is made for. */
export type FilterQuestion =
  | { readonly kind: "logs"; readonly criteria: Criteria }
  | { readonly kind: "blocks" | "pending" };

/** A block, for the case that it is dropped. */
export type DeliveredBlock = {
  readonly hash: string;
  readonly parentHash: string;
  /** What the filter tells when it is dropped. */
  readonly items: readonly RawJson[];
};

/** Where a client is, with the way there: newest block first. */
export type CursorPosition = Position & { readonly way?: readonly DeliveredBlock[] };

/** How far a client was told: up to a block, or up to a place in the journal of pending transactions. */
export type Cursor = CursorPosition | { readonly sequence: number };

export type FilterRecord = {
  /** The name of the key that made it. */
  readonly holder: string;
  /** In milliseconds since 1970; written now and then only. */
  readonly usedAtMs: number;
} & (
  | ({ readonly kind: "logs"; readonly criteria: Criteria } & CursorState<CursorPosition>)
  | ({ readonly kind: "blocks" } & CursorState<CursorPosition>)
  | ({ readonly kind: "pending" } & CursorState<{ readonly sequence: number }>)
);

type CursorState<At> = {
  readonly told: At;
  /** Answers that told so far may have arrived, or not: the gateway died while one was sent. */
  readonly unsure: readonly At[];
};

export const encodeFilter = (record: FilterRecord): string => JSON.stringify(record);

export const decodeFilter = (text: string): FilterRecord => JSON.parse(text) as FilterRecord;

/** A filter of very many addresses and topics takes the room of several. */
const ALTERNATIVES_OF_ONE = 100;

/** How many filters it counts as. */
export function weightOf(asked: FilterQuestion): number {
  if (asked.kind !== "logs") return 1;
  const { address, topics } = asked.criteria;
  const alternatives = [address, ...(topics ?? [])].reduce(
    (sum, each) => sum + (Array.isArray(each) ? each.length : 1),
    0,
  );
  return Math.max(1, Math.ceil(alternatives / ALTERNATIVES_OF_ONE));
}
