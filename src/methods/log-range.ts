// Where a log query searches, in fixed numbers, and whether that is within the limits.
import type { LogRange, LogScope } from "../evm/log-filter.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { settleNumber } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";

export type { LogRange };

/** @throws RpcError when the range is reversed, ends beyond the head or is too wide (docs/decisions/0035). */
export async function settleRange(
  { from: first, to: last }: Extract<LogScope, { kind: "range" }>,
  context: Pick<CallContext, "ask" | "consultHead" | "chain" | "network">,
): Promise<LogRange> {
  const from = toNumber(await settleNumber(first, context));
  let to = toNumber(await settleNumber(last, context));
  // The known head may be older than the one from which the caller took `from`.
  if (from > to && isHeadTag(last)) to = await context.consultHead().atLeast(from);
  if (from > to) throw errors.invalidBlockRange();
  if (isQuantity(last) && to > (await context.consultHead().atLeast(to))) throw errors.beyondHead();
  const { blocks, rule } = context.network.limits.logs;
  if (blocks !== undefined && to - from + 1 > blocks) throw errors.rangeTooWide(blocks, rule);
  return { from, to };
}

const isHeadTag = (reference: string): boolean => reference === "latest" || reference === "pending";

/**
 * Refuses an answer of more logs than allowed, with a range that gives no more. One block cannot be
 * asked for in parts, so its logs are given however many they are.
 *
 * @param logs The JSON array of a node, in chain order.
 */
export function refuseTooMany(logs: Buffer, { from, to }: LogRange, limit: number): void {
  if (from === to || countLogs(logs, limit) <= limit) return;
  const firstTooMany = findElements(logs)?.[limit];
  const log = firstTooMany && logs.subarray(firstTooMany.start, firstTooMany.end);
  const [span] = (log && findMembers(log, ["blockNumber"])) ?? [];
  const number = log && span && textOf(log, span).slice(1, -1);
  if (!isQuantity(number)) throw errors.upstreamsFailed(); // what was counted is no log
  // A range that ends before the block of the first log too many has at most `limit` logs.
  const last = Math.min(to, Math.max(from, toNumber(number) - 1));
  throw errors.tooManyLogs(limit, { from: toQuantity(from), to: toQuantity(last) });
}

const BLOCK_NUMBER = Buffer.from('"blockNumber"');

/**
 * How many logs an answer has; beyond `limit` they are not counted on.
 * Every log names its block, and no other string of a log holds quotes: counting these is cheap.
 */
export function countLogs(json: Buffer, limit = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (let at = json.indexOf(BLOCK_NUMBER); at >= 0 && count <= limit; count += 1) {
    at = json.indexOf(BLOCK_NUMBER, at + 1);
  }
  return count;
}
