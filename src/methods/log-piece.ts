// Asks the nodes for the logs of one piece of a query. When the nodes refuse a part of the piece for its size, the
// gateway asks for a smaller part.

import type { LogRange } from "../evm/log-filter.ts";
import { hasTooManyCriteria, mostAddressesIn, sizeRefusal } from "../evm/log-refusals.ts";
import { areLogsOdd, inChainOrder, refuteLogs } from "../evm/log-validation.ts";
import { toQuantity } from "../evm/values.ts";
import { OPEN_BRACE, OPEN_BRACKET } from "../jsonrpc/ascii.ts";
import { isNull, parsed } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { FinalReply } from "../upstream/asking/call-options.ts";
import type { LogsReach } from "../upstream/capabilities/capabilities.ts";
import type { Reply } from "../upstream/reply.ts";
import { type LogQueries, type LogQueryPart, mergedLogs } from "./log-addresses.ts";
import { countLogs } from "./log-lists.ts";
import type { CallContext } from "./method.ts";

export type PieceOptions = {
  /** The conditions on the logs; all pieces of a query share them. */
  readonly queries: LogQueries;
  readonly context: Pick<CallContext, "ask" | "hold" | "upstreamCallsLeft" | "ranges" | "signal">;
  /** `check` throws `rangeTooCostly` when the whole query turns out to need too many calls to nodes. */
  readonly budget: { check(): void };
  /** The most logs that the gateway answers: with one more, it asks for no further part. */
  readonly most: number;
  /** How many failures in a row are allowed; after each, the next part has half as many blocks and takes less time. */
  readonly failures: number;
  /** See `LogReplies`. */
  readonly isEmptyUncertain: boolean;
  /** Is called when a node gives logs that cannot be the answer. */
  readonly onFalse: () => void;
  /** Aborts when no more of the piece is wanted. */
  readonly ended: Signal;
};

export type PieceLogs = {
  /** JSON arrays, in order. */
  readonly arrays: readonly Buffer[];
  readonly count: number;
  /** Whether these are all logs of the piece, now and later, so that they may be kept. */
  readonly isLasting: boolean;
  /** The first block that was not asked for. */
  readonly unread: number | undefined;
  /** The upstreams that gave the logs; undefined where the answer to an equal call was shared. */
  readonly upstreams: readonly string[] | undefined;
};

/** A refusal in unknown words of a range of more blocks may be about its size, and is tried once at half of it. */
const FEW_BLOCKS = 8;

/**
 * Asks for a piece, part by part.
 * @throws RpcError A node's refusal of a few blocks, or for another reason than size, also of half the range; the last
 * of too many failures; `rangeTooCostly` from `budget.check`.
 */
export async function askPiece(range: LogRange, options: PieceOptions): Promise<PieceLogs> {
  const { ranges } = options.context;
  const arrays: Buffer[] = [];
  const upstreams = new Set<string | undefined>();
  let [count, failures, isLasting] = [0, 0, true];
  let doubted: RpcError | undefined;
  let { from } = range;
  let width = range.to - range.from + 1;
  while (from <= range.to && count <= options.most && !options.ended.aborted) {
    if (options.context.upstreamCallsLeft === 0) break;
    const to = Math.min(range.to, from + Math.min(width, ranges.width) - 1);
    const reply = await askPart({ from, to }, options);
    const asked = to - from + 1;
    if (reply.kind === "logs") {
      arrays.push(reply.json);
      options.context.hold(reply.json.length);
      count += countLogs(reply.json, options.most);
      isLasting &&= reply.isLasting;
      upstreams.add(reply.upstream);
      ranges.fitted(asked);
      options.budget.check(); // a node has answered this width, so it is no guess any more
      from = to + 1;
      width = doubted ? asked : asked * 2;
      failures = 0;
      continue;
    }
    if (reply.kind === "spent") break;
    if (reply.kind === "unknown") {
      if (doubted || asked <= FEW_BLOCKS) throw doubted ?? reply.error;
      doubted = reply.error;
      width = Math.ceil(asked / 2);
      continue;
    }
    if (reply.kind === "failed") {
      failures += 1;
      if (failures > options.failures) throw reply.error;
      width = Math.ceil(asked / 2);
      continue;
    }
    if (asked === 1) throw reply.error;
    width = reply.narrower.width;
    if (reply.narrower.isForAll) ranges.limitedTo(width);
  }
  const isWhole = from > range.to;
  return {
    ...{ arrays, count, isLasting: isLasting && isWhole, unread: isWhole ? undefined : from },
    upstreams: [...upstreams].every((name) => name !== undefined)
      ? ([...upstreams] as string[])
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
  /** A refusal in words that are neither about size nor about data that the node lacks. */
  | { readonly kind: "unknown"; readonly error: RpcError }
  | { readonly kind: "failed"; readonly error: RpcError }
  /** The call may make no further calls to nodes. */
  | { readonly kind: "spent" };

type ManyAddresses = {
  readonly kind: "many addresses";
  readonly query: LogQueryPart;
  readonly error: RpcError;
};

/** Asks for a part, in several queries where the nodes take only few addresses in one. */
async function askPart(range: LogRange, options: PieceOptions): Promise<PartReply> {
  const { queries, context } = options;
  for (;;) {
    const reply = await askEach(range, queries.parts, options);
    if (reply.kind !== "many addresses") return reply;
    queries.split(reply.query, mostAddressesIn(reply.error));
    if (context.upstreamCallsLeft === 0) return { kind: "spent" };
  }
}

async function askEach(
  range: LogRange,
  queries: readonly LogQueryPart[],
  options: PieceOptions,
): Promise<PartReply | ManyAddresses> {
  const [first, ...others] = queries;
  if (first && others.length === 0) return askOnce(range, first, options);
  const arrays: Buffer[] = [];
  let isLasting = true;
  for (const query of queries) {
    if (options.context.upstreamCallsLeft === 0) return { kind: "spent" };
    const reply = await askOnce(range, query, options);
    if (reply.kind !== "logs") return reply;
    arrays.push(reply.json);
    isLasting &&= reply.isLasting;
  }
  return { kind: "logs", json: mergedLogs(arrays), isLasting, upstream: undefined };
}

async function askOnce(
  range: LogRange,
  query: LogQueryPart,
  options: PieceOptions,
): Promise<PartReply | ManyAddresses> {
  const { context, isEmptyUncertain, most } = options;
  const replies = new LogReplies({ range, isEmptyUncertain });
  const blocks = { fromBlock: toQuantity(range.from), toBlock: toQuantity(range.to) };
  const { conditions, matcher } = query;
  try {
    const logs = await context.ask("eth_getLogs", JSON.stringify([{ ...blocks, ...conditions }]), {
      onReply: (reply, name, reach) => replies.learn(reply, { name, reach }),
      crossCheck: {
        name: isEmptyUncertain ? "logs that are kept" : "logs",
        isUncertain: (reply) => replies.isUncertain(reply),
      },
      isFalse: (given) => refuteLogs(given, { matcher, within: range, most }),
      onFalse: options.onFalse,
      block: range.from, // the block that a node is most likely to have dropped
      reaches: range.to,
    });
    const json = arrayOf(inChainOrder(logs));
    const upstream = replies.upstreamOf(logs);
    return { kind: "logs", json, isLasting: replies.isLasting(json), upstream };
  } catch (error) {
    if (!(error instanceof RpcError) || context.signal.aborted) throw error;
    if (replies.hasNothing)
      return { kind: "logs", json: NOTHING, isLasting: false, upstream: undefined };
    if (isFailure(error)) return { kind: "failed", error };
    // An error without a node's JSON is the gateway's own, and not about this range.
    if (error.json === undefined) throw error;
    if (query.addresses > 1 && hasTooManyCriteria(error))
      return { kind: "many addresses", query, error };
    const narrower = replies.narrower(error);
    if (narrower) return { kind: "too large", narrower, error };
    if (replies.isLacking || PARAMETERS.test(error.message)) throw error;
    return { kind: "unknown", error };
  }
}

/** The words of complaints about parameters: no smaller range is better. */
const PARAMETERS = /\b(?:invalid|missing|expected|malformed|required|unmarshal|deserializ)/i;

const NOTHING = Buffer.from("[]");

/** The array of logs; some nodes say null for none. @throws RpcError 502 when it is no array. */
function arrayOf(logs: Buffer): Buffer {
  if (isNull(logs)) return NOTHING;
  if (logs[0] !== OPEN_BRACKET) throw errors.upstreamsFailed();
  return logs;
}

/**
 * Whether all nodes failed (502, 504), which a smaller range may avoid. Where no node is usable (503), none does.
 */
const isFailure = ({ status }: RpcError): boolean => status === 502 || status === 504;

/** The limit of the next part, in blocks. */
type Narrower = {
  readonly width: number;
  /** Whether all nodes refused the width itself, so that the limit is the same for every query. */
  readonly isForAll: boolean;
};

type Refusal = { readonly message: string; readonly json?: string | undefined };

/** How many nodes must find no logs before an empty piece may be kept. */
const AGREEING = 2;
/** How many nodes must find no logs in old blocks before they are believed, while none showed that it has such logs. */
const AGREEING_UNSHOWN = 3;
/** How many nodes may give odd logs before the gateway puts them in order itself. */
const ODD = 2;
const LONGEST_ERROR = 10_000;

type Giver = { readonly name: string; readonly reach: LogsReach | undefined };

/**
 * The replies of nodes to one log query. Decides which of them are cross-checked, and learns the nodes' limits from
 * their refusals.
 */
class LogReplies {
  readonly #range: LogRange;
  readonly #isEmptyUncertain: boolean;
  readonly #givers = new Map<Buffer, Giver>();
  /** How many nodes found no logs, and how many of these are not known to lack old logs. */
  #nothings = 0;
  #denials = 0;
  #odd = 0;
  #isHistoryLacking = false;
  /** Whether a node said that it lacks something: then its words are known. */
  isLacking = false;
  /** The width, in blocks, that the most generous node accepts; 0 when no node refused the size. */
  #width = 0;
  #isForAll = true;

  /**
   * @param options.isEmptyUncertain Whether a second node checks each empty reply, since the piece may be kept: a node
   * without the history of a block finds no logs in it, and only the block itself would show the mistake.
   */
  constructor({ range, isEmptyUncertain }: { range: LogRange; isEmptyUncertain: boolean }) {
    this.#range = range;
    this.#isEmptyUncertain = isEmptyUncertain;
  }

  /** Learns from a reply before it is judged. */
  learn(reply: FinalReply, giver: Giver): void {
    if (reply.kind === "result") {
      this.#givers.set(reply.json, giver);
      if (isNothing(reply.json)) {
        this.#nothings += 1;
        if (giver.reach !== "lacks") this.#denials += 1;
      }
      if (areLogsOdd(reply.json)) this.#odd += 1;
      return;
    }
    if (reply.lacks) this.isLacking = true;
    if (reply.lacks === "history") this.#isHistoryLacking = true;
    this.#learnSize(reply);
  }

  /** Whether the gateway asks the next node as well. */
  isUncertain(reply: Reply): boolean {
    if (reply.kind === "refused")
      return (
        this.#sizeIn(reply) !== undefined || reply.lacks !== undefined || hasTooManyCriteria(reply)
      );
    if (reply.kind !== "result") return false;
    const reach = this.#givers.get(reply.json)?.reach;
    if (isNothing(reply.json)) return this.#isDenialUncertain(reach);
    if (areLogsOdd(reply.json) && this.#odd < ODD) return true;
    // Such a node may give the newest logs of the range alone, which is still better than none.
    return reach === "lacks" && this.#nothings === 0;
  }

  /** A node finds no logs in blocks whose logs it dropped. */
  #isDenialUncertain(reach: Giver["reach"]): boolean {
    if (reach === "lacks") return true;
    if (reach === "unknown" && this.#denials < AGREEING_UNSHOWN) return true;
    return this.#isEmptyUncertain && this.#denials < AGREEING;
  }

  /** The upstream that gave these logs; undefined where the answer to an equal call was shared. */
  upstreamOf(logs: Buffer): string | undefined {
    return this.#givers.get(logs)?.name;
  }

  /** Whether some node found no logs, which is a better answer than another node's refusal, even an earlier one. */
  get hasNothing(): boolean {
    return this.#nothings > 0;
  }

  /** Whether every node that has the history will find the same logs. */
  isLasting(logs: Buffer): boolean {
    if (this.#isHistoryLacking) return false;
    return !isNothing(logs) || this.#denials >= AGREEING;
  }

  /**
   * The limit of the most generous node; undefined when no refusal was about size.
   * @param refusal The refusal that the call ended with, the only known one where the call shared an equal call's reply.
   */
  narrower(refusal: Refusal): Narrower | undefined {
    if (this.#width === 0) this.#learnSize(refusal);
    return this.#width === 0 ? undefined : { width: this.#width, isForAll: this.#isForAll };
  }

  #learnSize(refusal: Refusal): void {
    const { from, to } = this.#range;
    const size = this.#sizeIn(refusal);
    if (!size) return;
    const half = Math.max(1, Math.floor((to - from + 1) / 2));
    const { hint, widest = half } = size;
    this.#width = Math.max(this.#width, hint === undefined ? widest : hint - from + 1);
    this.#isForAll &&= size.about === "range";
  }

  /** The limit that a refusal tells; undefined when the refusal is not about size. */
  #sizeIn({ message, json = "" }: Refusal): ReturnType<typeof sizeRefusal> {
    const error = json.length > LONGEST_ERROR ? undefined : parsed(json);
    const { data } = (error ?? {}) as { data?: unknown };
    return sizeRefusal({ message, data }, this.#range);
  }
}

const isNothing = (logs: Buffer): boolean => !logs.includes(OPEN_BRACE);
