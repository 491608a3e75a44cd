// A JSON-RPC request to an upstream, and what its reply means. Pure, but for `askerOf`, which asks one node by itself; the
// results themselves are never parsed.
// What errors mean is told by the tables in `error-dialects/`.
import { numberIn } from "../evm/values.ts";
import { CLOSE_BRACE, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../jsonrpc/ascii.ts";
import { findMembers, hasAt, type Span, skipSpace, skipValue, textOf } from "../jsonrpc/members.ts";
import { BEFORE_ID, BEHIND_ID, parsed } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import type { AnsweredExchange, Connection, Exchange } from "./connection/connection.ts";
import { BUSY_NODES, toldPauseMs } from "./error-dialects/busy-nodes.ts";
import { type Dialect, fits, type Lack, type Saying } from "./error-dialects/dialect.ts";
import { FAILING_NODES, REFUSED_ACCOUNTS } from "./error-dialects/failing-nodes.ts";
import { HONEST_REFUSALS } from "./error-dialects/honest-refusals.ts";
import { LACKING_BLOCKS, LACKING_HISTORY, LACKING_STATE } from "./error-dialects/lacking-data.ts";
import { LACKING_METHODS, UNPAID_METHODS } from "./error-dialects/lacking-methods.ts";

export type Reply =
  | { readonly kind: "result"; readonly json: Buffer }
  /** The node understood and said no; `json` is its error object as it came. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly message: string;
      readonly json: string;
      /** What this node does not have, and another one may. */
      readonly lacks?: Lack | undefined;
    }
  /** This node does not have the method. */
  | {
      readonly kind: "missing";
      /**
       * Or it has the method and cannot read these parameters: what one caller sends must not decide for all callers.
       */
      readonly isUnsure?: true;
    }
  /** It was asked too often. The pause that it wants, as far as it is known. */
  | { readonly kind: "busy"; readonly retryAfterMs: number | undefined }
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** The node reports the failure itself, perhaps of this call alone: the node is there. */
      readonly isReported?: true;
      /** The answer was longer than `limits.response` allows. */
      readonly isTooLarge?: true;
      /** The gateway did not read the answer to its end. */
      readonly isCrowded?: true;
    }
  /** It was not sent: too much waits for the node, or its turn would come too late. */
  | { readonly kind: "occupied"; readonly waitMs: number }
  | { readonly kind: "timeout" }
  | { readonly kind: "aborted" };

/**
 * Ids of requests are multiples of this. An answer under a neighbouring number is the answer to no call, so a node that
 * counts wrong gives no call the answer to another one.
 */
const ID_STEP = 10;
/** The ids begin again after this: some nodes read no larger numbers than 2^31. */
const LAST_ID = 2_000_000_000;

/** @param id The id of the request before; 0 for the first one. */
export const nextRequestId = (id: number): number => (id < LAST_ID ? id + ID_STEP : ID_STEP);

/** The request as it is sent. @param paramsJson A JSON array, spliced in as it is. */
export const requestJson = (id: number, method: string, paramsJson: string): string =>
  `{"jsonrpc":"2.0","id":${id}${membersBetween(method)}${paramsJson}}`;

/** The members of a batch call the same method, one after the other. */
let lastMembers = { method: "", json: "" };

function membersBetween(method: string): string {
  if (lastMembers.method !== method)
    lastMembers = { method, json: `,"method":${JSON.stringify(method)},"params":` };
  return lastMembers.json;
}

export type Asker = (method: string, paramsJson?: string) => Promise<Reply>;

/** Asks one node, without a pool. @param signal Ends all its questions; left out: each has the connection's own timeout. */
export function askerOf(connection: Pick<Connection, "send">, signal: Signal = NEVER): Asker {
  let lastId = 0;
  return async (method, paramsJson = "[]") => {
    const id = nextRequestId(lastId);
    lastId = id;
    const json = requestJson(id, method, paramsJson);
    return readReply(await connection.send({ id, json }, signal), id);
  };
}

const NEVER = new AbortController().signal;

/** The members that are looked for in an answer. */
export const ENVELOPE = ["id", "result", "error"];

/** A result as most nodes write it, with its id first, and where its members stand: see `ENVELOPE`. */
export type PlainResult = {
  readonly id: number;
  readonly members: readonly [id: Span, result: Span];
};

/** undefined for what is written otherwise, and for errors. */
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

/** -1 where there is none. */
const digitAt = (body: Buffer, at: number): number => {
  const digit = (body[at] ?? 0) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : -1;
};
const ZERO = 0x30;

/**
 * @param id The number that the request had.
 * @param method The called method: the same words may mean something else for another one.
 */
export function readReply(exchange: Exchange, id: number, method?: string): Reply {
  switch (exchange.kind) {
    case "answered":
      return readAnswer(exchange, id, method);
    case "unreachable":
      return { kind: "failed", reason: exchange.reason };
    case "too large":
      return {
        kind: "failed",
        reason: "the answer is larger than limits.response",
        isTooLarge: true,
      };
    case "crowded":
      return {
        kind: "failed",
        reason: "too much waits in memory",
        isReported: true,
        isCrowded: true,
      };
    case "timeout":
    case "aborted":
      return { kind: exchange.kind };
  }
}

/** The head that a reply tells; undefined when it is the reply to another method. */
export function headInReply(
  { tellsHead }: Pick<MethodTraits, "tellsHead">,
  paramsJson: string,
  reply: Reply,
): number | undefined {
  const isHead = reply.kind === "result" && tellsHead?.(paramsJson);
  return isHead ? numberIn(parsed(reply.json)) : undefined;
}

/** Beyond the chain's own data, a node's words are texts, or short: up to this many bytes. */
const LONGEST_WORDS = 16_384;
const HEX = Buffer.from('"0x');

/**
 * Whether a reply may contain the node's own words: each error does. Results do when they are texts that are no hex
 * value, or are not the chain's data, up to 16 KiB.
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

/**
 * The id of the subscription that a reply opened, as JSON text. Undefined when none was opened: the id must be a
 * string.
 */
export function subscriptionIdIn(exchange: Exchange, callId: number): string | undefined {
  const reply = readReply(exchange, callId);
  return reply.kind === "result" && reply.json[0] === QUOTE ? reply.json.toString() : undefined;
}

function readAnswer(exchange: AnsweredExchange, id: number, method: string | undefined): Reply {
  const { status, body } = exchange;
  const members = exchange.members ?? plainResultIn(body)?.members ?? findMembers(body, ENVELOPE);
  const [idSpan, result, error] = members ?? [];
  const answered = idSpan && textOf(body, idSpan);
  if (error && textOf(body, error) !== "null") {
    // An error may come without our id, or with null: from a node that could not read the request.
    const isOurs = answered === undefined || answered === "null" || answered === String(id);
    return isOurs || status >= 300
      ? readError(textOf(body, error), exchange, method)
      : failed("answer to another call");
  }
  if (!result) return readBareText(exchange, members !== undefined);
  if (status === 429)
    return busy(exchange, { saying: { status, code: undefined, text: "" }, row: undefined });
  if (status >= 300) return failed(`HTTP ${status}`);
  if (answered !== String(id)) return failed("answer to another call");
  return isValue(body, result)
    ? { kind: "result", json: body.subarray(result.start, result.end) }
    : failed("malformed answer");
}

const failed = (reason: string): Reply => ({ kind: "failed", reason });

const LONGEST_WORD = 64;

/** Strings and nested values are known to be closed. Anything else may be no JSON, like NaN. */
function isValue(body: Buffer, { start, end }: Span): boolean {
  const first = body[start];
  if (first === QUOTE || first === OPEN_BRACE || first === OPEN_BRACKET) return true;
  return end - start <= LONGEST_WORD && parsed(body.subarray(start, end)) !== undefined;
}

/** How much of a message, or of a page in the place of an answer, is read: it may be of any length, and hostile. */
const READ_CHARACTERS = 2_000;

function readError(json: string, exchange: AnsweredExchange, method: string | undefined): Reply {
  const { status } = exchange;
  const error = parsed(json);
  const { code, message, data } = (error ?? {}) as Record<string, unknown>;
  const text = [message, error].find((value) => typeof value === "string") ?? "";
  const saying: Saying = {
    status,
    code: typeof code === "number" ? code : undefined,
    text: text.slice(0, READ_CHARACTERS),
    method,
  };
  const row = dialectOf(saying);
  if (status === 429 || row?.means.kind === "busy") return busy(exchange, { saying, data, row });
  if (row?.means.kind === "missing" || row?.means.kind === "failed") return row.means;
  if (saying.code === undefined) return failed(status < 300 ? "malformed error" : `HTTP ${status}`);
  if (!row && isFailure(status) && !isRevert(saying)) return failed(`HTTP ${status}`);
  return { kind: "refused", code: saying.code, message: text, json, lacks: row?.means.lacks };
}

/** Reads a body that is no JSON-RPC: a proxy's page, a provider's own words, or an answer that was cut off. */
function readBareText(exchange: AnsweredExchange, isObject: boolean): Reply {
  const { status, body } = exchange;
  const text = body.toString("utf8", 0, READ_CHARACTERS);
  const saying = { status, code: undefined, text };
  const isCutOff = !isObject && /^\s*[{[]/.test(text); // what it contains are not the node's words
  const row = isCutOff ? undefined : dialectOf(saying);
  if (status === 429 || row?.means.kind === "busy") return busy(exchange, { saying, row });
  if (row?.means.kind === "missing") return row.means;
  if (status >= 300) return failed(`HTTP ${status}`);
  return failed(isObject ? "answer without a result" : "malformed answer");
}

/** With such a status a refusal is not believed, unless a dialect knows it. */
const isFailure = (status: number): boolean => status === 401 || status === 403 || status >= 500;

const busy = (
  { retryAfterMs }: AnsweredExchange,
  { saying, data, row }: { saying: Saying; data?: unknown; row: Dialect | undefined },
): Reply => ({
  kind: "busy",
  retryAfterMs: retryAfterMs ?? toldPauseMs(saying.text, data) ?? row?.pauseMs,
});

/** All dialects: the first row that fits counts. */
export const DIALECTS: readonly Dialect[] = [
  ...LACKING_BLOCKS,
  ...LACKING_STATE, // before history: "state at block 5 is pruned" is not about the block
  ...LACKING_HISTORY,
  ...HONEST_REFUSALS, // before all rows that blame the node
  ...BUSY_NODES, // an account that is used up is not an account that is refused
  ...UNPAID_METHODS,
  ...LACKING_METHODS,
  ...REFUSED_ACCOUNTS,
  ...FAILING_NODES,
];

/** The words of a revert are the contract's, so no row of a dialect is about them. */
const isRevert = ({ code, text }: Saying): boolean =>
  code === 3 || /\brevert|\bVM (Exception|execution error)/i.test(text);

/** The row for what a node says; undefined when no node is known to say so. */
export const dialectOf = (saying: Saying): Dialect | undefined =>
  isRevert(saying) ? undefined : DIALECTS.find((row) => fits(row, saying));
