// Splits a log query by its addresses, for nodes that take only few of them in one query, and merges the answers.

import { conditionsOf, type LogFilter, type LogMatcher, matcherOf } from "../evm/log-filter.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { joinJson } from "./log-lists.ts";

/** One query to the nodes. */
export type LogQueryPart = {
  /** Address and topics as nodes get them. */
  readonly conditions: object;
  /** The same conditions, to check each log of a reply. */
  readonly matcher: LogMatcher;
  /** How many addresses the conditions name. */
  readonly addresses: number;
};

/** The queries that together find the logs of a filter: one, until nodes refuse it for its number of addresses. */
export class LogQueries {
  #parts: readonly LogQueryPart[];
  readonly #filter: LogFilter;

  constructor(filter: LogFilter) {
    this.#filter = filter;
    this.#parts = [queryOf(filter)];
  }

  get parts(): readonly LogQueryPart[] {
    return this.#parts;
  }

  /**
   * Splits the queries further. Does nothing where that was done since.
   * @param refused A query with too many addresses. @param told How many the nodes take; undefined: they did not tell.
   */
  split(refused: LogQueryPart, told: number | undefined): void {
    if (!this.#parts.includes(refused)) return;
    const half = Math.floor(refused.addresses / 2);
    const most = Math.max(1, Math.min(told ?? half, refused.addresses - 1));
    const named = [this.#filter.address ?? []].flat();
    const all = [...new Map(named.map((each) => [each.toLowerCase(), each])).values()];
    this.#parts = Array.from({ length: Math.ceil(all.length / most) }, (_, part) =>
      queryOf({ ...this.#filter, address: all.slice(part * most, (part + 1) * most) }),
    );
  }
}

const queryOf = (filter: LogFilter): LogQueryPart => ({
  conditions: conditionsOf(filter),
  matcher: matcherOf(filter),
  addresses: Array.isArray(filter.address) ? filter.address.length : 1,
});

/**
 * One array of the logs of several arrays, in chain order: by block, transaction, then log, since on some chains the
 * log index begins again in each transaction.
 * @throws RpcError 502 where something is no log.
 */
export function mergedLogs(arrays: readonly Buffer[]): Buffer {
  const placed = arrays.flatMap((json) => {
    const spans = findElements(json);
    if (!spans) throw errors.upstreamsFailed();
    return spans.map(({ start, end }) => placedLog(json.subarray(start, end)));
  });
  placed.sort((a, b) => a.block - b.block || a.transaction - b.transaction || a.index - b.index);
  return Buffer.from(joinJson(placed.map(({ log }) => log)));
}

function placedLog(log: Buffer) {
  const spans = findMembers(log, ["blockNumber", "transactionIndex", "logIndex"]) ?? [];
  const [block, transaction, index] = spans.map((span) => {
    const text = span && textOf(log, span).slice(1, -1);
    return isQuantity(text) ? toNumber(text) : undefined;
  });
  if (block === undefined || transaction === undefined || index === undefined)
    throw errors.upstreamsFailed();
  return { log, block, transaction, index };
}
