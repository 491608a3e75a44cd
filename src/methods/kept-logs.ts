// Logs of final blocks do not change: what nodes told of a whole segment is kept, and cut to what is asked.
import type { ChainView } from "../chain/chain-view.ts";
import type { UpstreamLogs } from "../chain/kept-segments.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import { joinJson } from "./join-json.ts";
import type { LogRange } from "./log-range.ts";

export type KeptQuery = {
  readonly chain: Pick<ChainView, "keptLogs" | "keepLogs">;
  /** See `criteriaHash`. */
  readonly criteria: Uint8Array;
};

/** Of one segment, in bytes: a larger one would take the room of many. */
const WORTH_KEEPING = 1 << 20;

/**
 * The logs of a range, segment by segment.
 *
 * @param range.width How many blocks a segment has.
 * @returns undefined unless all of them are there.
 */
export function keptLogs(
  { from, to, width }: LogRange & { readonly width: number },
  { chain, criteria }: KeptQuery,
): readonly Buffer[] | undefined {
  const arrays: Buffer[] = [];
  for (let start = from - (from % width); start <= to; start += width) {
    const end = start + width - 1;
    const logs = chain.keptLogs({ criteria, from: start, to: end });
    if (!logs) return undefined;
    arrays.push(start < from || end > to ? within(logs, { from, to }) : logs);
  }
  return arrays;
}

/**
 * Nobody waits for it: what cannot be kept is asked for again. Nothing is kept that is not of these
 * blocks, in their order: who asks for a part of them gets what was cut out of it.
 */
export function keepLogs(
  { from, to }: LogRange,
  { json: logs, upstreams }: UpstreamLogs,
  { chain, criteria }: KeptQuery,
): void {
  if (logs.length > WORTH_KEEPING) return;
  const numbers = placesIn(logs)?.map(({ number }) => number);
  const isInOrder = numbers?.every(
    (number, index) => number >= (numbers[index - 1] ?? from) && number <= to,
  );
  if (isInOrder)
    chain.keepLogs({ criteria, from, to }, { json: logs, upstreams }).catch(() => undefined);
}

function within(logs: Buffer, { from, to }: LogRange): Buffer {
  const inside = (placesIn(logs) ?? []).filter(({ number }) => number >= from && number <= to);
  return Buffer.from(joinJson(inside.map(({ log }) => log)));
}

type Place = { readonly log: Buffer; readonly number: number };

/** undefined when something is no log of a block. */
function placesIn(logs: Buffer): readonly Place[] | undefined {
  const spans = findElements(logs);
  if (!spans) return undefined;
  const places: Place[] = [];
  for (const { start, end } of spans) {
    const log = logs.subarray(start, end);
    const [span] = findMembers(log, ["blockNumber"]) ?? [];
    const number = span && textOf(log, span).slice(1, -1);
    if (!isQuantity(number)) return undefined;
    places.push({ log, number: toNumber(number) });
  }
  return places;
}
