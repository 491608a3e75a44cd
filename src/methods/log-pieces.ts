// A log query at the nodes: in pieces whose borders do not depend on who asks, so that repeated and
// sliding queries ask the same again; several at once, joined in order, and no more than is answered.
import { criteriaHash } from "../evm/log-criteria.ts";
import { conditionsOf, type LogFilter } from "../evm/log-filter.ts";
import { matcherOf } from "../evm/log-matcher.ts";
import { joinArrays } from "./join-json.ts";
import { type KeptQuery, keepLogs, keptLogs } from "./kept-logs.ts";
import { type Asking, askPiece } from "./log-piece.ts";
import { countLogs, type LogRange, refuseTooMany } from "./log-range.ts";
import { LogWork } from "./log-work.ts";
import type { CallContext } from "./method.ts";

export type NodeLogs = {
  /** A JSON array. */
  readonly logs: Buffer;
  /** false: all of it was kept. */
  readonly isFresh: boolean;
  /** Some node told what cannot be the answer. */
  readonly isSuspect: boolean;
};

type Surroundings = Pick<
  CallContext,
  "ask" | "hold" | "questionsLeft" | "ranges" | "signal" | "network"
> & {
  readonly chain: KeptQuery["chain"] | undefined;
};

/** Most nodes take so many blocks at once; and one answer with too many logs is not much too large. */
const WIDEST = 2_000;
const AT_ONCE = 4;
const FAILURES = 2;
/** Made once: an abort without a reason makes an exception with a stack. */
const ENOUGH = new Error("no more logs are wanted");

/**
 * @throws RpcError when there are more logs than allowed, or more questions would be needed: then the
 * rest is not asked for; or a node's refusal.
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
  const conditions = conditionsOf(filter);
  const failures = isOne ? 0 : FAILURES;
  const pieces = (): Iterable<Piece> => piecesOf(range, context);
  const work = new LogWork(
    { range },
    {
      context,
      *pieces() {
        for (const piece of pieces())
          yield { ...piece, isKept: kept !== undefined && keptLogs(piece, kept) !== undefined };
      },
    },
  );
  const matcher = matcherOf(filter);
  let isSuspect = false;
  const onLie = (): void => {
    isSuspect = true;
  };
  const asking = {
    onLie,
    conditions,
    matcher,
    context,
    most,
    failures,
    ended: ended.signal,
    kept,
    work,
  };
  const arrays: Buffer[] = [];
  let count = 0;
  let isFresh = false;
  try {
    for await (const piece of inOrder(pieces(), (next) => find(next, asking))) {
      arrays.push(...piece.arrays);
      count += piece.count;
      isFresh ||= piece.isFresh;
      if (count > most) break;
      if (piece.unread !== undefined) throw work.usedUp(piece.unread);
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
  /** How many blocks a whole segment has now. */
  readonly width: number;
};

/** Segments begin at multiples of their width. A range that one question can have is not cut. */
function* piecesOf({ from, to }: LogRange, { ranges }: Surroundings): Generator<Piece> {
  const isOne = to - from < widthOf(ranges);
  for (let start = from; start <= to; ) {
    const width = widthOf(ranges); // nodes may have said more of it meanwhile
    const end = isOne ? to : Math.min(to, start - (start % width) + width - 1);
    yield { from: start, to: end, width };
    start = end + 1;
  }
}

const widthOf = ({ width }: CallContext["ranges"]): number => Math.min(width, WIDEST);

type Found = {
  readonly arrays: readonly Buffer[];
  readonly count: number;
  readonly isFresh: boolean;
  /** The first block that was not asked for. */
  readonly unread?: number | undefined;
};

async function find(
  piece: Piece,
  asking: Omit<Asking, "isEmptyUncertain"> & { readonly kept: KeptQuery | undefined },
): Promise<Found> {
  const { kept, ...question } = asking;
  const known = kept && keptLogs(piece, kept);
  if (known) {
    const count = known.reduce((sum, array) => sum + countLogs(array), 0);
    asking.context.hold(bytesOf(known));
    return { arrays: known, count, isFresh: false };
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

/** The results in the order of the items. So many are worked on at once; no more are held. */
async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for (const item of items) {
    const result = work(item);
    result.catch(() => undefined); // told when it is its turn; nobody may be there any more
    underWay.push(result);
    if (underWay.length === AT_ONCE) yield underWay.shift() as Promise<Result>;
  }
  for (const result of underWay) yield result;
}
