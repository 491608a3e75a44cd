// Asks the nodes for logs in pieces. The borders of pieces do not depend on the query, so repeated and sliding queries
// have the same pieces. A few pieces are in flight at a time; none follows once there are more logs than are answered.
import type { ChainView } from "../chain/chain-view.ts";
import type { UpstreamLogs } from "../chain/kept-segments.ts";
import { criteriaHash, type LogFilter, type LogRange } from "../evm/log-filter.ts";
import { toQuantity } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import { LogQueries } from "./log-addresses.ts";
import { blockNumberOf, countLogs, joinArrays, joinJson, refuseTooMany } from "./log-lists.ts";
import { askPiece, type PieceLogs, type PieceOptions } from "./log-piece.ts";
import type { CallContext } from "./method.ts";

export type NodeLogs = {
  /** A JSON array. */
  readonly logs: Buffer;
  /** Whether a node gave some of the logs now; false when all were kept from earlier queries. */
  readonly isFresh: boolean;
  /** Whether some node gave logs that cannot be the answer. */
  readonly isSuspect: boolean;
};

type Surroundings = Pick<
  CallContext,
  "ask" | "hold" | "upstreamCallsLeft" | "ranges" | "signal" | "network"
> & {
  readonly chain: KeptQuery["chain"] | undefined;
};

/** The widest piece, in blocks: most nodes accept so many, and an answer with too many logs is not much too large. */
const WIDEST = 2_000;
const AT_ONCE = 4;
const FAILURES = 2;
/** The reason of every abort, since an abort without a reason makes an exception with a stack. */
const ENOUGH = new Error("no more logs are wanted");

/**
 * The logs of a range: kept from earlier queries, or from the nodes.
 * @throws RpcError A node's refusal; -32005 as soon as there are more logs, or more calls to nodes, than are allowed.
 */
export async function logsOfNodes(
  range: LogRange,
  filter: LogFilter,
  context: Surroundings,
): Promise<NodeLogs> {
  const { results } = context.network.limits.logs;
  const isOne = range.from === range.to;
  const most = isOne ? Number.POSITIVE_INFINITY : results;
  const { chain } = context;
  const kept = chain && { chain, criteria: criteriaHash(filter) };
  const ended = new AbortController();
  const budget = new LogCallBudget({ range, kept }, context);
  let isSuspect = false;
  const asking = {
    ...{ context, most, kept, budget, ended: ended.signal },
    queries: new LogQueries(filter),
    failures: isOne ? 0 : FAILURES,
    onFalse: (): void => {
      isSuspect = true;
    },
  };
  const arrays: Buffer[] = [];
  let count = 0;
  let isFresh = false;
  try {
    for await (const piece of inOrder(piecesOf(range, context), (next) => find(next, asking))) {
      arrays.push(...piece.arrays);
      count += piece.count;
      isFresh ||= piece.isFresh;
      if (count > most) break;
      if (piece.unread !== undefined) throw budget.usedUp(piece.unread);
    }
  } finally {
    ended.abort(ENOUGH);
  }
  const logs = joinArrays(arrays);
  context.hold(logs.length - bytesOf(arrays)); // the pieces were counted as they came
  if (count > most) refuseTooMany(logs, range, results);
  return { logs, isFresh, isSuspect };
}

const bytesOf = (arrays: readonly Buffer[]): number =>
  arrays.reduce((sum, { length }) => sum + length, 0);

type Piece = LogRange & {
  /** How many blocks a segment has now. */
  readonly width: number;
};

/** Cuts a range at multiples of a segment's width, unless one call to a node can have all of it. */
function* piecesOf({ from, to }: LogRange, { ranges }: Surroundings): Generator<Piece> {
  const isOne = to - from < widthOf(ranges);
  for (let start = from; start <= to; ) {
    const width = widthOf(ranges); // nodes may have told another limit meanwhile
    const end = isOne ? to : Math.min(to, start - (start % width) + width - 1);
    yield { from: start, to: end, width };
    start = end + 1;
  }
}

const widthOf = ({ width }: CallContext["ranges"]): number => Math.min(width, WIDEST);

type Found = Pick<PieceLogs, "arrays" | "count" | "unread"> & Pick<NodeLogs, "isFresh">;

async function find(
  piece: Piece,
  options: Omit<PieceOptions, "isEmptyUncertain"> & { readonly kept: KeptQuery | undefined },
): Promise<Found> {
  const { kept, ...question } = options;
  const known = kept && keptLogs(piece, kept);
  if (known) {
    const count = known.reduce((sum, array) => sum + countLogs(array), 0);
    options.context.hold(bytesOf(known));
    return { arrays: known, count, isFresh: false, unread: undefined };
  }
  const { from, to, width } = piece;
  const isSegment = from % width === 0 && to - from + 1 === width;
  const isEmptyUncertain = kept !== undefined && isSegment;
  const { arrays, count, isLasting, unread, upstreams } = await askPiece(piece, {
    ...question,
    isEmptyUncertain,
  });
  if (kept && isSegment && isLasting && upstreams)
    keepLogs(piece, { json: joinArrays(arrays), upstreams }, kept);
  return { arrays, count, isFresh: true, unread };
}

/** The results in the order of the items. `AT_ONCE` items are worked on at a time, and no more results are held. */
async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for (const item of items) {
    const result = work(item);
    result.catch(() => undefined); // an error is thrown in its turn, unless the caller has stopped before
    underWay.push(result);
    if (underWay.length === AT_ONCE) yield underWay.shift() as Promise<Result>;
  }
  for (const result of underWay) yield result;
}

/** Logs of final blocks do not change: the store keeps those of whole segments, and queries cut their blocks out. */
type KeptQuery = {
  readonly chain: Pick<ChainView, "keptLogs" | "keepLogs">;
  /** See `criteriaHash`. */
  readonly criteria: Uint8Array;
};

/** The most bytes of a segment's logs that are kept: more would take the room of many other segments. */
const WORTH_KEEPING = 1 << 20;

/**
 * The kept logs of a range, segment by segment.
 * @param range.width How many blocks a segment has.
 * @returns undefined unless the logs of all segments are kept.
 */
function keptLogs(
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
 * Keeps the logs of a segment without waiting: a later query asks again for logs that could not be kept. Only logs of
 * these blocks, in their order, are kept, since later queries cut their blocks out of the logs.
 */
function keepLogs(
  { from, to }: LogRange,
  { json: logs, upstreams }: UpstreamLogs,
  { chain, criteria }: KeptQuery,
): void {
  if (logs.length > WORTH_KEEPING) return;
  const numbers = numbered(logs)?.map(({ number }) => number);
  const isInOrder = numbers?.every(
    (number, index) => number >= (numbers[index - 1] ?? from) && number <= to,
  );
  if (isInOrder)
    chain.keepLogs({ criteria, from, to }, { json: logs, upstreams }).catch(() => undefined);
}

function within(logs: Buffer, { from, to }: LogRange): Buffer {
  const inside = (numbered(logs) ?? []).filter(({ number }) => number >= from && number <= to);
  return Buffer.from(joinJson(inside.map(({ log }) => log)));
}

type NumberedLog = { readonly log: Buffer; readonly number: number };

/** The logs with the numbers of their blocks; undefined when one of them is no log of a block. */
function numbered(logs: Buffer): readonly NumberedLog[] | undefined {
  const spans = findElements(logs);
  if (!spans) return undefined;
  const all: NumberedLog[] = [];
  for (const { start, end } of spans) {
    const log = logs.subarray(start, end);
    const number = blockNumberOf(log);
    if (number === undefined) return undefined;
    all.push({ log, number });
  }
  return all;
}

/** The share of the allowed calls that a proposed range needs, since nodes may accept fewer blocks here and there. */
const SHARE = 0.75;
/**
 * The share of the blocks read so far that the error proposes when the calls are used up: where logs are dense, the
 * second half may cost more.
 */
const SHARE_READ = 0.5;

/**
 * Tells whether a log query needs more calls to nodes than one call may make, and which range would not. Where the
 * nodes' widest range is known, `LogCallBudget` tells it before many pieces are asked for.
 */
class LogCallBudget {
  /** How many calls to nodes the query may make. */
  readonly #most: number;
  readonly #range: LogRange;
  readonly #context: Surroundings;
  readonly #kept: KeptQuery | undefined;
  /** The smallest width, in blocks, for which the calls are known to be enough. */
  #fitting = Number.POSITIVE_INFINITY;

  constructor(query: { range: LogRange; kept: KeptQuery | undefined }, context: Surroundings) {
    this.#range = query.range;
    this.#kept = query.kept;
    this.#context = context;
    this.#most = context.upstreamCallsLeft;
  }

  /** @throws RpcError `rangeTooCostly` when the nodes accept so few blocks that the calls are not enough. */
  check(): void {
    const { width } = this.#context.ranges;
    if (width >= this.#fitting) return;
    const { from, to } = this.#range;
    if (Math.ceil((to - from + 1) / width) + 1 > this.#most) this.#count();
    this.#fitting = width;
  }

  /** The error when the calls are used up. @param next The first block that was not read. */
  usedUp(next: number): RpcError {
    const { from } = this.#range;
    return this.#tooCostly(from + Math.floor((next - from) * SHARE_READ) - 1);
  }

  #count(): void {
    const affordable = Math.max(1, Math.floor(this.#most * SHARE));
    let [asked, last] = [0, this.#range.from];
    for (const piece of piecesOf(this.#range, this.#context)) {
      if (!(this.#kept && keptLogs(piece, this.#kept))) asked += 1;
      if (asked > this.#most) throw this.#tooCostly(last);
      if (asked <= affordable) last = piece.to;
    }
  }

  #tooCostly(last: number): RpcError {
    const { from } = this.#range;
    const range = { from: toQuantity(from), to: toQuantity(Math.max(from, last)) };
    return errors.rangeTooCostly(this.#context.network.limits.upstreamCalls, range);
  }
}
