// The error class whose instances callers see, and the table of all errors that they may see (docs/errors.md).

/** An error that is reported to the caller as it is. Any other thrown value is a bug, and is answered with -32603. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  /** The HTTP status when the call stands alone; inside a batch it is 200. */
  readonly status: number;
  readonly data: unknown;
  /** A node's own error object, to be passed on unchanged. */
  readonly json: string | undefined;
  /** Seconds until a retry is worthwhile, for a passing shortage. An error with this value is counted, not logged. */
  readonly retryAfter: number | undefined;

  constructor(
    code: number,
    message: string,
    options: {
      status?: number;
      data?: unknown;
      json?: string | undefined;
      retryAfter?: number;
      cause?: unknown;
    } = {},
  ) {
    // Nobody reads the stack of a refusal, and capturing it takes ten times as long as everything else here.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = options.status ?? 200;
    this.data = options.data;
    this.json = options.json;
    this.retryAfter = options.retryAfter;
  }
}

/** The data of a 429: compute units (calls, for `concurrent`), and the seconds until a retry is worthwhile. */
export type RateLimit = {
  limit: number;
  remaining: number;
  retryAfter: number;
  rule: "rate" | "day" | "month" | "concurrent" | "webSockets" | "messages";
};

/** The setting of a key, or the bound for callers, because of which the call was refused. */
export const ruleOf = ({ data }: RpcError): string | undefined =>
  (data as { readonly rule?: string } | undefined)?.rule;

/** Whether no upstream that may be asked has the method, so that the gateway may try another way. */
export const isMethodMissing = (thrown: unknown): boolean =>
  thrown instanceof RpcError && (thrown.code === -32601 || isMethodMissing(thrown.cause));

/** Whether the error is an `errors.tooMuchWork` or an `errors.rangeTooCostly`. */
export const isTooMuchWork = (thrown: unknown): boolean =>
  thrown instanceof RpcError && ruleOf(thrown) === WORK_RULE;

const WORK_RULE = "upstreamCalls";

const NO_UPSTREAM = "no upstream is available for this network";
const NO_ANSWER = "no upstream could answer";

/** Whether the error is an `errors.noUpstream` or an `errors.upstreamsFailed`. */
export const isNoAnswer = (thrown: unknown): thrown is RpcError =>
  thrown instanceof RpcError && (thrown.message === NO_UPSTREAM || thrown.message === NO_ANSWER);

/** @param silence For how long no node has answered, in milliseconds, and the last head that was known before. */
export function withSilence(
  error: RpcError,
  silence: { readonly ms: number; readonly head: { readonly number: number } } | undefined,
): RpcError {
  if (!silence) return error;
  const { code, message, status, cause } = error;
  const seconds = Math.round(silence.ms / 1000);
  const since = `no node has confirmed a head for ${seconds} s, and the last known head is block ${silence.head.number}`;
  return new RpcError(code, `${message}: ${since}`, { status, cause });
}

/** The error for something that is unavailable now, but perhaps not for long. */
const unavailable = (
  message: string,
  more: { readonly retryAfter?: number; readonly cause?: unknown } = {},
): RpcError => new RpcError(-32603, message, { status: 503, ...more });

/** The error for a caller that exceeds a limit. */
const tooMany = (message: string, data: object): RpcError =>
  new RpcError(-32005, message, { status: 429, data });

/** @param why Why the method is unavailable: on this network, over this connection, or from these nodes. */
const noMethod = (why: string): RpcError => new RpcError(-32601, why);

export const errors = {
  // The server.
  parseError: (cause?: unknown) => new RpcError(-32700, "parse error", { status: 400, cause }),
  invalidRequest: (why?: string) =>
    new RpcError(-32600, why ? `invalid request: ${why}` : "invalid request", { status: 400 }),
  emptyBatch: () => new RpcError(-32600, "empty batch", { status: 400 }),
  batchTooLarge: () => new RpcError(-32600, "batch too large", { status: 413 }),
  /** The batch has more members than this key may send at once. */
  batchTooLargeForKey: (limit: number) =>
    new RpcError(-32600, "batch too large", { status: 413, data: { rule: "batch", limit } }),
  bodyTooLarge: () => new RpcError(-32600, "request body too large", { status: 413 }),
  unsupportedMediaType: (why: string) => new RpcError(-32600, why, { status: 415 }),
  notOneHost: () =>
    new RpcError(-32600, "invalid request: want exactly one Host header", { status: 400 }),
  verbNotAllowed: (verb: string, allowed = "POST") =>
    new RpcError(-32600, `${verb} is not allowed here, use ${allowed}`, { status: 405 }),
  /** @param why The part of the handshake that is missing or wrong (RFC 6455 §4.2.1). */
  notWebSocket: (why: string) => new RpcError(-32600, `invalid request: ${why}`, { status: 400 }),
  unknownNetwork: () => new RpcError(-32600, "unknown network", { status: 404 }),
  unidentifiedNetwork: () =>
    unavailable("none of this network's nodes has said yet which chain it is"),
  unknownPath: () =>
    new RpcError(-32600, "unknown path, want /v1/<api key> or /<network>/v1/<api key>", {
      status: 404,
    }),
  /** The path and the headers name different keys, and the gateway does not guess which one the caller meant. */
  twoKeys: () =>
    new RpcError(
      -32600,
      "the request names two API keys: send one, in the path, as Authorization: Bearer or as X-Api-Key",
      { status: 400 },
    ),
  missingKey: () => new RpcError(-32000, "missing API key", { status: 401 }),
  invalidKey: () => new RpcError(-32000, "invalid API key", { status: 401 }),
  /** The identity provider's keys are unknown, or the gateway is verifying too many tokens. */
  tokensUnavailable: () =>
    unavailable("tokens cannot be verified now, try again", { retryAfter: 5 }),
  /** Too many unknown keys came from the caller's address, and too many callers are waiting for their refusal. */
  tooManyGuesses: (limit: number, retryAfter: number) =>
    tooMany("too many unknown API keys", { rule: "guesses", limit, remaining: 0, retryAfter }),
  /** Too many requests from the caller's address, with this key if any, were refused. */
  tooManyRefusals: (limit: number, retryAfter: number) =>
    tooMany("too many refused requests", { rule: "refusals", limit, remaining: 0, retryAfter }),
  /** @param rule The setting of the key that forbids the request. */
  rejectedByKey: (rule: string) =>
    new RpcError(-32002, "rejected by API key settings", { status: 403, data: { rule } }),
  methodNotForKey: (rule: string) =>
    new RpcError(-32004, "method not available for this key", { status: 403, data: { rule } }),
  rateLimited: (data: RateLimit) => tooMany("rate limit exceeded", data),

  /** A stopping process finishes the calls that run; its successor must take new ones. */
  draining: () => unavailable("restarting", { retryAfter: 1 }),
  /** Too many bytes wait in memory for the gateway to begin this call. */
  memoryIsScarce: () =>
    unavailable("the gateway has too many answers waiting, try again", { retryAfter: 1 }),
  /** @param limit Bytes. */
  batchResponseTooLarge: (limit: number) =>
    new RpcError(
      -32005,
      `the answers to this batch are longer than ${limit} bytes: ask for the rest in another batch`,
      { data: { rule: "batchResponse", limit } },
    ),

  // Parameters.
  methodNotFound: (name: string) => noMethod(`the method ${name} does not exist/is not available`),
  /** The method exists, but is closed on this network. */
  methodClosed: (name: string) => noMethod(`the method ${name} is not open on this network`),
  needsPush: (name: string) =>
    noMethod(`the method ${name} is not open over HTTP, which cannot push: poll a filter instead`),
  missingArgument: (index: number, status = 200) =>
    new RpcError(-32602, `missing value for required argument ${index}`, { status }),
  tooManyArguments: (most: number, status = 200) =>
    new RpcError(-32602, `too many arguments, want at most ${most}`, { status }),
  invalidArgument: (index: number, why: string, status = 200) =>
    new RpcError(-32602, `invalid argument ${index}: ${why}`, { status }),
  invalidParams: (why: string, status = 200) => new RpcError(-32602, why, { status }),

  // Chain and state.
  unknownBlock: () => new RpcError(-32000, "unknown block"),
  blockNotCanonical: () => new RpcError(-32000, "hash is not currently canonical"),
  /** No block has this tag yet: on a young chain no block is finalized. */
  taggedBlockNotFound: (tag: string) => new RpcError(-32000, `${tag} block not found`),
  headerNotFound: () => new RpcError(-32001, "header not found"),
  /** The block is known, its state is not. @param block Its number or hash. */
  stateNotKept: (block: string) =>
    new RpcError(-32000, `missing trie node: the state of block ${block} is not available`),
  blockChanged: () => new RpcError(-32000, "the block changed while its receipts were read"),
  executionReverted: (reason: string | undefined, data: string | undefined) =>
    new RpcError(3, reason ? `execution reverted: ${reason}` : "execution reverted", { data }),
  hashAndRange: () =>
    new RpcError(
      -32602,
      "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
    ),
  invalidBlockRange: () => new RpcError(-32602, "invalid block range params"),
  beyondHead: () => new RpcError(-32602, "block range extends beyond current head block"),
  /** @param rule The setting of the key, if the limit is the key's own. */
  rangeTooWide: (most: number, rule?: string) =>
    new RpcError(-32602, `exceed maximum block range ${most}`, {
      data: rule === undefined ? undefined : { rule, limit: most },
    }),
  tooManyLogs: (limit: number, range: { from: string; to: string }) =>
    new RpcError(
      -32005,
      `query returned more than ${limit} results. Try with this block range [${range.from}, ${range.to}].`,
      { data: { ...range, limit } },
    ),

  /** The nodes answer so little per call that this call would need more calls of nodes than allowed. */
  tooMuchWork: (limit: number) =>
    new RpcError(-32005, `this call needs more than ${limit} calls to nodes`, {
      data: { rule: WORK_RULE, limit },
    }),
  /** As `tooMuchWork`, for a log query, with a range that is affordable. @param unit The unit of the range. */
  rangeTooCostly: (
    limit: number,
    range: { from: string; to: string },
    unit: "block" | "epoch" = "block",
  ) =>
    new RpcError(
      -32005,
      `query needs more than ${limit} calls to nodes. Try with this ${unit} range [${range.from}, ${range.to}].`,
      { data: { rule: WORK_RULE, ...range, limit } },
    ),

  /** The state that gateways share (keys, filters, counts; `state/`) is unreachable. */
  stateUnavailable: (cause?: unknown) =>
    unavailable("the gateway's shared state cannot be reached, try again", { cause }),

  /** The disk refuses writes of the state: keys, filters and counts. @param why In words for a person. */
  stateNotWritable: (why: string, cause?: unknown) =>
    unavailable(`the gateway's state cannot be written: ${why}, try again later`, {
      ...{ retryAfter: 10, cause },
    }),
  /** The disk refuses writes of the blocks that filters read. */
  chainNotFollowed: (why: string) =>
    unavailable(`the chain is not followed now: ${why}, try again later`, { retryAfter: 10 }),

  // Filters.
  filterNotFound: () => new RpcError(-32000, "filter not found"),
  /**
   * No node has the blocks after the filter's last one any more, so the filter has ended: the client has all items up to
   * this block (a QUANTITY), makes a new filter, and asks for the logs above the block.
   */
  filterLost: (lastBlock: string) =>
    new RpcError(-32000, "filter not found", { data: { lastBlock } }),
  /** @param weight The number of filters that the refused one counts as. */
  tooManyFilters: (most: number, manner: "polled" | "pushed" = "polled", weight = 1) => {
    const what = manner === "polled" ? "filters" : "subscriptions";
    const how =
      manner === "polled"
        ? "end some with eth_uninstallFilter, or leave them unpolled for five minutes"
        : "end some with eth_unsubscribe";
    const counts =
      weight > 1 ? `, and this one counts as ${weight}, one for each 100 addresses and topics` : "";
    return new RpcError(-32005, `no more than ${most} ${what} for one key${counts}: ${how}`);
  },
  /** The subscription ended, has other criteria, or belongs to another key. */
  subscriptionNotFound: () => new RpcError(-32000, "subscription not found"),
  /** The gateway no longer knows the caller's position in the subscription. */
  tooFarBehind: () => new RpcError(-32000, "too far behind"),
  receivedTooMany: () =>
    new RpcError(-32602, "invalid argument: `received` is more than the subscription has pushed"),
  noSuchSubscription: () => new RpcError(-32602, "no such subscription kind"),
  noPushSource: () =>
    noMethod(
      "this subscription needs an upstream that announces such events, and this network has none",
    ),
  noMempoolSource: () =>
    noMethod(
      "the method eth_newPendingTransactionFilter is not available: no upstream of this network announces pending transactions",
    ),
  chainMoves: () => unavailable("the chain changes faster than it can be read, try again"),

  // Transactions.
  /** EIP-7966: the transaction was sent, and has no receipt yet. @param hash The transaction's hash. */
  notMinedInTime: (ms: number, hash: string) =>
    new RpcError(
      4,
      `The transaction was added to the mempool but wasn't processed in ${ms / 1000}s.`,
      { data: hash },
    ),

  // Traces.
  transactionNotFound: () => new RpcError(-32000, "transaction not found"),
  /** @param what The exceeded limit with its unit, such as "2500000 steps". */
  traceTooLarge: (what: string) =>
    new RpcError(
      -32005,
      `the vmTrace of this transaction has more than ${what}; ask only for trace and stateDiff`,
    ),
  cannotTrace: (wanted: readonly string[]) =>
    noMethod(
      `no upstream of this network can make this trace: one with ${wanted.join(" or ")} is needed`,
    ),

  // Upstreams.
  refusedByNode: (code: number, message: string, json: string) =>
    new RpcError(code, message, { json }),
  noUpstream: () => unavailable(NO_UPSTREAM),
  /** Only nodes that an operator drained may have the method. */
  methodOnlyDrained: (name: string, cause: RpcError) =>
    unavailable(`no upstream that has the method ${name} is available now`, { cause }),
  upstreamsLimited: () => unavailable("all upstreams of this network are at their rate limit"),
  /** So many calls wait for the upstreams that the answer would come too late, or that the queue is full. */
  upstreamsOccupied: (retryAfter: number) =>
    unavailable("too many calls wait for the upstreams of this network, try again", {
      retryAfter,
    }),
  /** Several upstreams were asked, and too few of them gave the same answer. */
  upstreamsDisagree: () =>
    new RpcError(-32603, "the upstreams of this network disagree", { status: 502 }),
  tooFewVendors: (wanted: number) =>
    unavailable(
      `${wanted} vendors must agree on the answer to this method, and fewer vendors of this network can be asked`,
    ),
  upstreamsFailed: () => new RpcError(-32603, NO_ANSWER, { status: 502 }),
  unproven: () =>
    new RpcError(-32603, "no upstream gave this block in a form that can be proven", {
      status: 502,
    }),
  receiptsNotKept: () =>
    new RpcError(-32603, "no upstream has the receipts of this block, and so its logs", {
      status: 502,
    }),
  upstreamTimeout: () => new RpcError(-32603, "upstream timeout", { status: 504 }),

  internal: (requestId: string, cause: unknown) =>
    new RpcError(-32603, "internal error", { status: 500, data: { requestId }, cause }),
};
