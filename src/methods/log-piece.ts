// The logs of a few blocks from the nodes, asked for in as many parts as these want.

import { areFalse } from "../evm/false-logs.ts";
import type { LogMatcher } from "../evm/log-matcher.ts";
import { toQuantity } from "../evm/values.ts";
import { OPEN_BRACKET } from "../jsonrpc/ascii.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import { isNull } from "./block-lookup.ts";
import { countLogs, type LogRange } from "./log-range.ts";
import { LogReplies, type Narrower } from "./log-replies.ts";
import type { LogWork } from "./log-work.ts";
import type { CallContext } from "./method.ts";

export type Asking = {
  /** Address and topics, as they are sent. */
  readonly conditions: object;
  /** What each log has of them. */
  readonly matcher: LogMatcher;
  readonly context: Pick<CallContext, "ask" | "hold" | "questionsLeft" | "ranges" | "signal">;
  /** Of the whole query. */
  readonly work: Pick<LogWork, "check">;
  /** More logs than this are not answered: with one more, no more are asked for. */
  readonly most: number;
  /** So many failures in a row are met with half as many blocks: an answer may be too long, or take too long. */
  readonly failures: number;
  /** See `LogReplies`. */
  readonly isEmptyUncertain: boolean;
  /** Told when a node gave what cannot be the answer. */
  readonly onLie: () => void;
  /** Nobody wants more of it. */
  readonly ended: AbortSignal;
};

export type PieceLogs = {
  /** JSON arrays, in order. */
  readonly arrays: readonly Buffer[];
  readonly count: number;
  /** All of the piece's logs, and nobody will find others. */
  readonly isLasting: boolean;
  /** The first block that was not asked for. */
  readonly unread: number | undefined;
  /** Who told them; undefined where that was heard by somebody else who asked the same. */
  readonly upstreams: readonly string[] | undefined;
};

/**
 * @throws RpcError: a node's refusal of one block, or one that is not about size; `rangeTooCostly` when
 * it is learned that the whole query needs too many questions.
 */
export async function askPiece(range: LogRange, asking: Asking): Promise<PieceLogs> {
  const { ranges } = asking.context;
  const arrays: Buffer[] = [];
  const tellers = new Set<string | undefined>();
  let [count, failures, isLasting] = [0, 0, true];
  let { from } = range;
  let width = range.to - range.from + 1;
  while (from <= range.to && count <= asking.most && !asking.ended.aborted) {
    if (asking.context.questionsLeft === 0) break;
    const to = Math.min(range.to, from + Math.min(width, ranges.width) - 1);
    const told = await askPart({ from, to }, asking);
    const asked = to - from + 1;
    if (told.kind === "logs") {
      arrays.push(told.json);
      asking.context.hold(told.json.length);
      count += countLogs(told.json, asking.most);
      isLasting &&= told.isLasting;
      tellers.add(told.upstream);
      ranges.fitted(asked);
      asking.work.check(); // what was answered is wide enough, and no guess
      from = to + 1;
      width = asked * 2;
      failures = 0;
      continue;
    }
    if (told.kind === "failed") {
      failures += 1;
      if (failures > asking.failures) throw told.error;
      width = Math.ceil(asked / 2);
      continue;
    }
    if (asked === 1) throw told.error;
    width = told.narrower.width;
    if (told.narrower.isForAll) ranges.limitedTo(width);
  }
  const isWhole = from > range.to;
  return {
    ...{ arrays, count, isLasting: isLasting && isWhole, unread: isWhole ? undefined : from },
    upstreams: [...tellers].every((name) => name !== undefined)
      ? ([...tellers] as string[])
      : undefined,
  };
}

type PartReply =
  | {
      readonly kind: "logs";
      readonly json: Buffer;
      readonly isLasting: boolean;
      readonly upstream: string | undefined;
    }
  | { readonly kind: "too large"; readonly narrower: Narrower; readonly error: RpcError }
  | { readonly kind: "failed"; readonly error: RpcError };

async function askPart(range: LogRange, asking: Asking): Promise<PartReply> {
  const { conditions, context, isEmptyUncertain } = asking;
  const replies = new LogReplies({ range, isEmptyUncertain });
  const blocks = { fromBlock: toQuantity(range.from), toBlock: toQuantity(range.to) };
  const { matcher, most } = asking;
  try {
    const told = await context.ask("eth_getLogs", JSON.stringify([{ ...blocks, ...conditions }]), {
      onReply: (reply, name) => replies.hear(reply, name),
      crossCheck: {
        name: isEmptyUncertain ? "logs, and none" : "logs",
        isUncertain: (reply) => replies.isUncertain(reply),
      },
      isFalse: (given) => areFalse(given, { matcher, within: range, most }),
      onFalse: asking.onLie,
      block: range.from, // the first that a node may not have any more
      reaches: range.to,
    });
    const json = arrayOf(told);
    const upstream = replies.upstreamOf(told);
    return { kind: "logs", json, isLasting: replies.isLasting(json), upstream };
  } catch (error) {
    if (!(error instanceof RpcError) || context.signal.aborted) throw error;
    if (replies.hasNothing)
      return { kind: "logs", json: NOTHING, isLasting: false, upstream: undefined };
    if (isFailure(error)) return { kind: "failed", error };
    // What the gateway itself refuses is not about this range.
    const narrower = error.json === undefined ? undefined : replies.narrower(error);
    if (!narrower) throw error;
    return { kind: "too large", narrower, error };
  }
}

const NOTHING = Buffer.from("[]");

/** Some nodes say null for none. @throws RpcError 502 for what is no array. */
function arrayOf(told: Buffer): Buffer {
  if (isNull(told)) return NOTHING;
  if (told[0] !== OPEN_BRACKET) throw errors.upstreamsFailed();
  return told;
}

/** All nodes failed (502, 504), which fewer blocks may spare them. That there is none is not to be helped. */
const isFailure = ({ status }: RpcError): boolean => status === 502 || status === 504;
