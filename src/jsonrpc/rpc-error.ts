// The one error that has a face, and the table of all that callers may see (docs/errors.md).

/** What a caller is told. Everything else that is thrown is a bug and answers -32603. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  /** The HTTP status when the call stands alone; inside a batch it is 200. */
  readonly status: number;
  readonly data: unknown;
  /** A node's own error object, to be passed on as it came. */
  readonly json: string | undefined;
  /** Set where the gateway has too much to do: in so many seconds it is worth trying again. It is counted, not logged. */
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
    // Nobody reads where a refusal was made, and to note that takes ten times as long as all the rest.
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

/** What a 429 tells: compute units (of `concurrent` calls), and seconds until it is worth trying again. */
export type RateLimit = {
  limit: number;
  remaining: number;
  retryAfter: number;
  rule: "rate" | "day" | "month" | "concurrent" | "webSockets" | "messages";
};

/** Which setting of a key, or bound of its callers, refused it. */
export const ruleOf = ({ data }: RpcError): string | undefined =>
  (data as { readonly rule?: string } | undefined)?.rule;

/** No upstream that may be asked has the method: another way may do. */
export const isMethodMissing = (thrown: unknown): boolean =>
  thrown instanceof RpcError && (thrown.code === -32601 || isMethodMissing(thrown.cause));

/** See `errors.tooMuchWork`. */
export const isTooMuchWork = (thrown: unknown): boolean =>
  thrown instanceof RpcError && ruleOf(thrown) === WORK_RULE;

const WORK_RULE = "upstreamCalls";

/** What cannot be had now, and may be in a moment. */
const unavailable = (
  message: string,
  more: { readonly retryAfter?: number; readonly cause?: unknown } = {},
): RpcError => new RpcError(-32603, message, { status: 503, ...more });

/** One caller has too much of something. */
const tooMany = (message: string, data: object): RpcError =>
  new RpcError(-32005, message, { status: 429, data });

/** Why a method is not there: for this network, over this connection, or for these nodes. */
const noMethod = (why: string): RpcError => new RpcError(-32601, why);

export const errors = {
  // The server.
  parseError: (cause?: unknown) => new RpcError(-32700, "parse error", { status: 400, cause }),
  invalidRequest: (why?: string) =>
    new RpcError(-32600, why ? `invalid request: ${why}` : "invalid request", { status: 400 }),
  emptyBatch: () => new RpcError(-32600, "empty batch", { status: 400 }),
  batchTooLarge: () => new RpcError(-32600, "batch too large", { status: 413 }),
  /** More than this key may send at once. */
  batchTooLargeForKey: (limit: number) =>
    new RpcError(-32600, "batch too large", { status: 413, data: { rule: "batch", limit } }),
  bodyTooLarge: () => new RpcError(-32600, "request body too large", { status: 413 }),
  unsupportedMediaType: (why: string) => new RpcError(-32600, why, { status: 415 }),
  notOneHost: () =>
    new RpcError(-32600, "invalid request: want exactly one Host header", { status: 400 }),
  verbNotAllowed: (verb: string, allowed = "POST") =>
    new RpcError(-32600, `${verb} is not allowed here, use ${allowed}`, { status: 405 }),
  /** @param why What the handshake lacks (RFC 6455 §4.2.1). */
  notWebSocket: (why: string) => new RpcError(-32600, `invalid request: ${why}`, { status: 400 }),
  unknownNetwork: () => new RpcError(-32600, "unknown network", { status: 404 }),
  unidentifiedNetwork: () =>
    unavailable("none of this network's nodes has said yet which chain it is"),
  unknownPath: () =>
    new RpcError(-32600, "unknown path, want /v1/<api key> or /<network>/v1/<api key>", {
      status: 404,
    }),
  /** The path and headers name keys that differ: which one was meant is not guessed. */
  twoKeys: () =>
    new RpcError(
      -32600,
      "the request names two API keys: send one, in the path, as Authorization: Bearer or as X-Api-Key",
      { status: 400 },
    ),
  missingKey: () => new RpcError(-32000, "missing API key", { status: 401 }),
  invalidKey: () => new RpcError(-32000, "invalid API key", { status: 401 }),
  /** The keys of the identity provider are not known, or too many tokens are verified. */
  tokensUnavailable: () =>
    unavailable("tokens cannot be verified now, try again", { retryAfter: 5 }),
  /** Too many unknown keys came from the caller's address, and too many callers wait for their refusal. */
  tooManyGuesses: (limit: number, retryAfter: number) =>
    tooMany("too many unknown API keys", { rule: "guesses", limit, remaining: 0, retryAfter }),
  /** Too much of what came from the caller's address, with this key if it has one, was refused. */
  tooManyRefusals: (limit: number, retryAfter: number) =>
    tooMany("too many refused requests", { rule: "refusals", limit, remaining: 0, retryAfter }),
  /** @param rule Which setting of the key forbids it. */
  rejectedByKey: (rule: string) =>
    new RpcError(-32002, "rejected by API key settings", { status: 403, data: { rule } }),
  methodNotForKey: (rule: string) =>
    new RpcError(-32004, "method not available for this key", { status: 403, data: { rule } }),
  rateLimited: (data: RateLimit) => tooMany("rate limit exceeded", data),

  /** Calls that run are answered; whatever comes now is for the next process. */
  draining: () => unavailable("restarting", { retryAfter: 1 }),
  /** Too many bytes wait in memory for this to be begun. */
  memoryIsScarce: () =>
    unavailable("the gateway has too many answers waiting, try again", { retryAfter: 1 }),
  /** @param limit In bytes. */
  batchResponseTooLarge: (limit: number) =>
    new RpcError(
      -32005,
      `the answers to this batch are longer than ${limit} bytes: ask for the rest in another one`,
      { data: { rule: "batchResponse", limit } },
    ),

  // Parameters.
  methodNotFound: (name: string) => noMethod(`the method ${name} does not exist/is not available`),
  /** Others may have it. */
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
  /** A tag that no block has yet: nothing is finalized on a young chain. */
  taggedBlockNotFound: (tag: string) => new RpcError(-32000, `${tag} block not found`),
  headerNotFound: () => new RpcError(-32001, "header not found"),
  /** Of a block that is known. @param block Its number or hash. */
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
  /** @param rule The setting of the key, when it is the key's own range. */
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

  /** The nodes take so little at once that the call would ask them too often. */
  tooMuchWork: (limit: number) =>
    new RpcError(-32005, `this call needs more than ${limit} calls of nodes`, {
      data: { rule: WORK_RULE, limit },
    }),
  /** The same of a log query, with a range that needs no more. @param unit What the range counts. */
  rangeTooCostly: (
    limit: number,
    range: { from: string; to: string },
    unit: "block" | "epoch" = "block",
  ) =>
    new RpcError(
      -32005,
      `query needs more than ${limit} calls of nodes. Try with this ${unit} range [${range.from}, ${range.to}].`,
      { data: { rule: WORK_RULE, ...range, limit } },
    ),

  /** What gateways share: keys, filters, counts (state/). */
  stateUnavailable: (cause?: unknown) =>
    unavailable("the gateway's shared state cannot be reached, try again", { cause }),

  /** The disk does not take what keys, filters and counts are kept in. @param why In words for a person. */
  stateNotWritable: (why: string, cause?: unknown) =>
    unavailable(`the gateway's state cannot be written: ${why}, try again later`, {
      ...{ retryAfter: 10, cause },
    }),
  /** The disk does not take the blocks that filters look into. */
  chainNotFollowed: (why: string) =>
    unavailable(`the chain is not followed now: ${why}, try again later`, { retryAfter: 10 }),

  // Filters.
  filterNotFound: () => new RpcError(-32000, "filter not found"),
  tooManyFilters: (most: number, manner: "polled" | "pushed" = "polled") =>
    new RpcError(
      -32005,
      manner === "polled"
        ? `no more than ${most} filters for one key: end some with eth_uninstallFilter, or leave them unpolled for five minutes`
        : `no more than ${most} subscriptions for one key: end some with eth_unsubscribe`,
    ),
  /** It ended, is of other criteria, or of another key. */
  subscriptionNotFound: () => new RpcError(-32000, "subscription not found"),
  /** Where the caller is in it is not known any more. */
  tooFarBehind: () => new RpcError(-32000, "too far behind"),
  receivedTooMany: () =>
    new RpcError(
      -32602,
      "invalid argument: the subscription never pushed as many as `received` says",
    ),
  noSuchSubscription: () => new RpcError(-32602, "no such subscription kind"),
  nobodyPushes: () =>
    noMethod("this is pushed as a node announces it, and no upstream of this network does"),
  nobodyTellsPending: () =>
    noMethod(
      "the method eth_newPendingTransactionFilter is not available: no upstream of this network tells of pending transactions",
    ),
  chainMoves: () => unavailable("the chain changes faster than it can be read, try again"),

  // Traces.
  transactionNotFound: () => new RpcError(-32000, "transaction not found"),
  /** @param what With its number, such as "2500000 steps". */
  traceTooLarge: (what: string) =>
    new RpcError(
      -32005,
      `the vmTrace of this transaction has more than ${what}; ask for trace and stateDiff alone`,
    ),
  cannotTrace: (wanted: readonly string[]) =>
    noMethod(
      `no upstream of this network can trace that: one with ${wanted.join(" or ")} is needed`,
    ),

  // Upstreams.
  refusedByNode: (code: number, message: string, json: string) =>
    new RpcError(code, message, { json }),
  noUpstream: () => unavailable("no upstream is available for this network"),
  /** Only nodes that an operator drained have it. */
  methodSpared: (name: string, cause: RpcError) =>
    unavailable(`no upstream that has the method ${name} is available now`, { cause }),
  upstreamsLimited: () => unavailable("all upstreams of this network are at their rate limit"),
  /** So much waits for the nodes that the answer would come too late, or already too much does. */
  upstreamsOccupied: (retryAfter: number) =>
    unavailable("too many calls wait for the upstreams of this network, try again", {
      retryAfter,
    }),
  /** Several were asked, and too few gave the same answer. */
  upstreamsDisagree: () =>
    new RpcError(-32603, "the upstreams of this network disagree", { status: 502 }),
  tooFewVendors: (wanted: number) =>
    unavailable(
      `fewer than ${wanted} vendors of this network can be asked, and as many must agree on this method`,
    ),
  upstreamsFailed: () => new RpcError(-32603, "no upstream could answer", { status: 502 }),
  unproven: () =>
    new RpcError(-32603, "no upstream gave this block so that it could be proven", { status: 502 }),
  upstreamTimeout: () => new RpcError(-32603, "upstream timeout", { status: 504 }),

  internal: (requestId: string, cause: unknown) =>
    new RpcError(-32603, "internal error", { status: 500, data: { requestId }, cause }),
};
