// Writes JSON-RPC requests to an upstream, and classifies its replies; the tables in `error-dialects/` say what errors
// mean. Pure, except for `askerOf`; never parses a result.
import { numberIn } from "../evm/values.ts";
import { CLOSE_BRACE, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../jsonrpc/ascii.ts";
import { findMembers, hasAt, type Span, skipSpace, skipValue, textOf } from "../jsonrpc/members.ts";
import { BEFORE_ID, BEHIND_ID, parsed } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import type { AnsweredExchange, Connection, Exchange } from "./connection/connection.ts";
import { BUSY_NODES, statedPauseMs } from "./error-dialects/busy-nodes.ts";
import {
  type Dialect,
  fits,
  isCodeOfTheCall,
  type Lack,
  type ReplyWording,
  unwrapped,
} from "./error-dialects/dialect.ts";
import { FAILING_NODES, REFUSED_ACCOUNTS } from "./error-dialects/failing-nodes.ts";
import { LACKING_BLOCKS, LACKING_HISTORY, LACKING_STATE } from "./error-dialects/lacking-data.ts";
import { LACKING_METHODS, UNPAID_METHODS } from "./error-dialects/lacking-methods.ts";
import { UNIVERSAL_REFUSALS } from "./error-dialects/universal-refusals.ts";

export type Reply =
  | { readonly kind: "result"; readonly json: Buffer }
  /** The node understood the call and refused it; `json` is its error object as it came. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly message: string;
      readonly json: string;
      /** The data that this node does not have, and another one may have. */
      readonly lacks?: Lack | undefined;
      /** Left out: the refusal is believed, unless it lacks something. */
      readonly doubt?: Doubt | undefined;
    }
  /** This node does not have the method. */
  | {
      readonly kind: "missing";
      /** The node may have the method, but cannot read these parameters: one call must not decide for all callers. */
      readonly isUnsure?: true;
    }
  /** The node was asked too often. `retryAfterMs`: the pause that it asks for, where that is known. */
  | {
      readonly kind: "busy";
      readonly retryAfterMs: number | undefined;
      /** Left out: the node's status says so, or the gateway's budget. Words to a caller are no evidence. */
      readonly byWords?: "to a caller" | "to the gateway";
    }
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** The failure says nothing against the node's presence: the node reported it, perhaps for this call alone. */
      readonly isReported?: true;
      /** The answer was longer than `limits.response`, or than the request takes. */
      readonly isTooLarge?: true;
      /** The words may be the caller's: the failure says nothing about the node. */
      readonly isHearsay?: true;
      /** The gateway did not read the answer to its end. */
      readonly isCrowded?: true;
    }
  /** The call was not sent: too many calls wait for the node, or its turn would come too late. */
  | { readonly kind: "occupied"; readonly waitMs: number }
  | { readonly kind: "timeout" }
  | { readonly kind: "aborted" };

export type RefusedReply = Extract<Reply, { kind: "refused" }>;

/**
 * The reason why a refusal is not believed of one node alone: its words are not known; they were learned to mean that
 * this node cannot answer; or they say that the node is busy, failed, or lacks the method, but the caller may have chosen
 * them.
 */
type Doubt = "unknown" | "unable" | "busy" | "failed" | "missing";

/**
 * The party whose words an error may carry: the node, to a call of the gateway itself; the node; or also the caller or
 * a contract.
 */
export type Voice = "node to gateway" | "node" | "anyone";

/** The part of a call that its reply is read by. */
export type Spoken = { readonly method?: string | undefined; readonly voice?: Voice };

/** Request ids are multiples of this: a node whose ids are off by one gives no call the answer to another call. */
const ID_STEP = 10;
/** Ids begin again after this one: some nodes read no numbers above 2^31. */
const LAST_ID = 2_000_000_000;

/** @param id The id of the last request; 0: there was none. */
export const nextRequestId = (id: number): number => (id < LAST_ID ? id + ID_STEP : ID_STEP);

/** The envelope of a request. @param paramsJson A JSON array, spliced in as it is. */
export const requestJson = (id: number, method: string, paramsJson: string): string =>
  `{"jsonrpc":"2.0","id":${id}${membersBetween(method)}${paramsJson}}`;

/** The text between the id and the parameters of the last request: calls in a row often have the same method. */
let lastMembers = { method: "", json: "" };

function membersBetween(method: string): string {
  if (lastMembers.method !== method)
    lastMembers = { method, json: `,"method":${JSON.stringify(method)},"params":` };
  return lastMembers.json;
}

export type NodeCaller = (method: string, paramsJson?: string) => Promise<Reply>;

/** Asks one node, without a pool. @param signal Aborts all calls; left out: only the connection's timeout ends them. */
export function nodeCallerOf(
  connection: Pick<Connection, "send">,
  signal: Signal = NEVER,
): NodeCaller {
  let lastId = 0;
  return async (method, paramsJson = "[]") => {
    const id = nextRequestId(lastId);
    lastId = id;
    const json = requestJson(id, method, paramsJson);
    return readReply(await connection.send({ id, json }, signal), id);
  };
}

const NEVER = new AbortController().signal;

/** The members that `readReply` looks for in an answer. */
export const ENVELOPE = ["id", "result", "error"];

/** A result as most nodes write it, with its id first. `members`: the spans of the first two members of `ENVELOPE`. */
export type PlainResult = {
  readonly id: number;
  readonly members: readonly [id: Span, result: Span];
};

/** Reads a plain result in one pass; undefined for an answer in another form, and for errors. */
export function plainResultIn(body: Buffer): PlainResult | undefined {
  const idStart = BEFORE_ID.length;
  if (!hasAt(body, 0, BEFORE_ID)) return undefined;
  let [id, idEnd] = [0, idStart];
  for (let digit = digitAt(body, idEnd); digit >= 0; digit = digitAt(body, idEnd)) {
    id = id * 10 + digit;
    idEnd += 1;
  }
  if (idEnd === idStart || !hasAt(body, idEnd, BEHIND_ID)) return undefined;
  const start = idEnd + BEHIND_ID.length;
  const end = skipValue(body, start);
  if (end < 0 || body[end] !== CLOSE_BRACE || skipSpace(body, end + 1) < body.length)
    return undefined;
  return {
    id,
    members: [
      { start: idStart, end: idEnd },
      { start, end },
    ],
  };
}

/** The value of the digit at this offset; -1 where there is none. */
const digitAt = (body: Buffer, at: number): number => {
  const digit = (body[at] ?? 0) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : -1;
};
const ZERO = 0x30;

/**
 * Classifies the outcome of a request.
 * @param id The id of the request.
 * @param call The called method, for which the words of an error may have another meaning than for other methods; and
 * whose words they may be: left out, the node's to the gateway.
 */
export function readReply(exchange: Exchange, id: number, call: Spoken = NO_CALL): Reply {
  switch (exchange.kind) {
    case "answered":
      return readAnswer(exchange, id, call);
    case "unreachable":
      return failed(exchange.reason);
    case "too large":
      return { ...failed("the answer is larger than limits.response"), isTooLarge: true };
    case "crowded":
      return { ...failed("too much waits in memory"), isReported: true, isCrowded: true };
    case "timeout":
    case "aborted":
      return { kind: exchange.kind };
  }
}

const NO_CALL: Spoken = {};

/** The head that a reply tells; undefined when the call did not ask for the head, or has no result. */
export function headInReply(
  { tellsHead }: Pick<MethodTraits, "tellsHead">,
  paramsJson: string,
  reply: Reply,
): number | undefined {
  const isHead = reply.kind === "result" && tellsHead?.(paramsJson);
  return isHead ? numberIn(parsed(reply.json)) : undefined;
}

/** A result of more bytes counts as data of the chain, not as the node's own words. */
const LONGEST_WORDS = 16_384;
const HEX = Buffer.from('"0x');

/**
 * Whether a reply may contain the node's own words. Each refusal may. A result of up to 16 KiB may when it is a text
 * that is no hex value, or any other value of a method whose results are not the chain's data.
 */
export function hasOwnWords(
  reply: Reply,
  { isOfChain }: Pick<MethodTraits, "isOfChain">,
): reply is Extract<Reply, { kind: "result" | "refused" }> {
  if (reply.kind !== "result") return reply.kind === "refused";
  const { json } = reply;
  if (json.length > LONGEST_WORDS) return false;
  if (json[0] === QUOTE) return json[1] !== HEX[1] || json[2] !== HEX[2];
  return !isOfChain;
}

/** The id of the subscription that a reply opened, as JSON text; undefined unless the result is a string. */
export function subscriptionIdIn(exchange: Exchange, callId: number): string | undefined {
  const reply = readReply(exchange, callId);
  return reply.kind === "result" && reply.json[0] === QUOTE ? reply.json.toString() : undefined;
}

function readAnswer(exchange: AnsweredExchange, id: number, call: Spoken): Reply {
  const { status, body } = exchange;
  const members = exchange.members ?? plainResultIn(body)?.members ?? findMembers(body, ENVELOPE);
  const [idSpan, result, error] = members ?? [];
  const answered = idSpan && textOf(body, idSpan);
  if (error && textOf(body, error) !== "null") {
    // An error may have no id, or null: a node that cannot read a request does not know its id.
    const isOurs = answered === undefined || answered === "null" || answered === String(id);
    return isOurs || status >= 300
      ? readError(textOf(body, error), exchange, call)
      : failed("answer to another call");
  }
  if (!result) return readBareText(exchange, { isObject: members !== undefined, call });
  if (status === 429) return { kind: "busy", retryAfterMs: exchange.retryAfterMs };
  if (status >= 300) return failed(`HTTP ${status}`);
  if (answered !== String(id)) return failed("answer to another call");
  return isValue(body, result)
    ? { kind: "result", json: body.subarray(result.start, result.end) }
    : failed("malformed answer");
}

const failed = (reason: string): Extract<Reply, { kind: "failed" }> => ({ kind: "failed", reason });

const LONGEST_WORD = 64;

/** Whether a span is a JSON value: strings and nested values are known to be closed, anything else may be like NaN. */
function isValue(body: Buffer, { start, end }: Span): boolean {
  const first = body[start];
  if (first === QUOTE || first === OPEN_BRACE || first === OPEN_BRACKET) return true;
  return end - start <= LONGEST_WORD && parsed(body.subarray(start, end)) !== undefined;
}

/** The part of a message, or of a page in place of an answer, that is read: both may be long and hostile. */
const READ_CHARACTERS = 2_000;

function readError(json: string, exchange: AnsweredExchange, call: Spoken): Reply {
  const { status } = exchange;
  const error = parsed(json);
  const { code, message, data } = (error ?? {}) as Record<string, unknown>;
  const text = [message, error].find((value) => typeof value === "string") ?? "";
  const wording: ReplyWording = {
    status,
    code: typeof code === "number" ? code : undefined,
    text: unwrapped(text.slice(0, READ_CHARACTERS)),
    method: call.method,
  };
  const row = dialectOf(wording);
  const refused = (doubt?: Doubt): Reply =>
    wording.code === undefined
      ? { ...failed("malformed error"), isReported: true, isHearsay: true }
      : { kind: "refused", code: wording.code, message: text, json, lacks: lackIn(row), doubt };
  if (row && isHearsay(row, { status, call })) return refused(doubtOf(row));
  if (status === 429 || row?.means.kind === "busy")
    return busy(exchange, { wording, data, row, call });
  if (row?.means.kind === "missing" || row?.means.kind === "failed") return row.means;
  const isRead = row !== undefined || isRevert(wording);
  if (!isRead && call.voice === "anyone" && status === 500) return refused("failed");
  if (!isRead && isFailure(status)) return failed(`HTTP ${status}`);
  if (wording.code === undefined) return malformed(status);
  return isRead || isCodeOfTheCall(wording.code) ? refused() : refused("unknown");
}

const malformed = (status: number): Reply =>
  failed(status < 300 ? "malformed error" : `HTTP ${status}`);

const lackIn = (row: Dialect | undefined): Lack | undefined =>
  row?.means.kind === "refused" ? row.means.lacks : undefined;

/** Whether a dialect that blames the node rests on words which the caller may have chosen. */
const isHearsay = (
  { means, words }: Dialect,
  { status, call }: { readonly status: number; readonly call: Spoken },
): boolean =>
  call.voice === "anyone" && means.kind !== "refused" && words !== undefined && !isOwn(status);

/** Whether only a provider or proxy answers with this HTTP status: nodes report the failure of a call with others. */
const isOwn = (status: number): boolean => status >= 401 && status !== 500;

const doubtOf = ({ means }: Dialect): Doubt | undefined =>
  means.kind === "refused" ? undefined : means.kind;

/** Reads a body that is no JSON-RPC response: a proxy's page, a provider's text, or an answer that was cut off. */
function readBareText(
  exchange: AnsweredExchange,
  { isObject, call }: { readonly isObject: boolean; readonly call: Spoken },
): Reply {
  const { status, body } = exchange;
  const text = body.toString("utf8", 0, READ_CHARACTERS);
  const wording = { status, code: undefined, text };
  const isCutOff = !isObject && /^\s*[{[]/.test(text); // then its texts are data, not the node's words
  const row = isCutOff ? undefined : dialectOf(wording);
  if (status === 429 || row?.means.kind === "busy") return busy(exchange, { wording, row, call });
  if (row?.means.kind === "missing") return row.means;
  if (status >= 300) return failed(`HTTP ${status}`);
  return failed(isObject ? "answer without a result" : "malformed answer");
}

/** Whether a refusal with this HTTP status counts as a failure, unless a dialect knows it. */
const isFailure = (status: number): boolean => status === 401 || status === 403 || status >= 500;

/** The longest pause for words of the node to a call whose caller may have chosen them, in milliseconds. */
const HEARSAY_PAUSE_MS = 5_000;

/** A busy reply. Only the node's HTTP status, and its words to a call of the gateway's own, are worth a pause. */
function busy(
  { status, retryAfterMs }: AnsweredExchange,
  {
    wording,
    data,
    row,
    call,
  }: {
    readonly wording: Pick<ReplyWording, "text">;
    readonly data?: unknown;
    readonly row?: Dialect | undefined;
    readonly call: Spoken;
  },
): Reply {
  if (retryAfterMs !== undefined) return { kind: "busy", retryAfterMs };
  const { voice = "node to gateway" } = call;
  const isByStatus = status === 429 || status === 402;
  if (!isByStatus && voice !== "node to gateway")
    return { kind: "busy", retryAfterMs: undefined, byWords: "to a caller" };
  const statedMs = voice === "anyone" ? undefined : statedPauseMs(wording.text, data);
  const pauseMs = statedMs ?? row?.pauseMs;
  const isLong = status === 402 || voice !== "anyone";
  return {
    kind: "busy",
    retryAfterMs: pauseMs === undefined || isLong ? pauseMs : Math.min(pauseMs, HEARSAY_PAUSE_MS),
    ...(!isByStatus && { byWords: "to the gateway" }),
  };
}

/** All dialects; the first row that fits counts. */
export const DIALECTS: readonly Dialect[] = [
  ...LACKING_BLOCKS,
  ...LACKING_STATE, // before history: "state at block 5 is pruned" is not about the block
  ...LACKING_HISTORY,
  ...UNIVERSAL_REFUSALS, // before all rows that blame the node
  ...BUSY_NODES, // before refused accounts: an account that is used up is not refused
  ...UNPAID_METHODS,
  ...LACKING_METHODS,
  ...REFUSED_ACCOUNTS,
  ...FAILING_NODES,
];

/** Whether the error is a revert: its words are the contract's, so no dialect row is about them. */
const isRevert = ({ code, text }: ReplyWording): boolean =>
  code === 3 || /\brevert|\bVM (Exception|execution error)/i.test(text);

/** The dialect row for an error; undefined when no row fits. */
export const dialectOf = (wording: ReplyWording): Dialect | undefined =>
  isRevert(wording) ? undefined : DIALECTS.find((row) => fits(row, wording));
