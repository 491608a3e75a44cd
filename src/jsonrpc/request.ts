// Turns a request body into messages: calls that can be made, and the errors for the other members.
import { isUtf8 } from "node:buffer";
import { ambiguityIn, TOO_DEEP, whyUnreadable } from "./ambiguity.ts";
import { type BodyBounds, BodyScan } from "./body-scan.ts";
import { findElements, findMembers, isSpace, type Span, textOf } from "./members.ts";
import { type CallMessage, DEFAULT_ID, readPlainBatch, readPlainCall } from "./plain-call.ts";
import { errors, type RpcError } from "./rpc-error.ts";

export type Message =
  | CallMessage
  | { readonly kind: "invalid"; readonly id: string; readonly error: RpcError };

export type RequestBody =
  | { readonly kind: "single"; readonly message: Message }
  | { readonly kind: "batch"; readonly messages: readonly Message[] };

/** Deeper than any method's parameters; deeper values could overflow a stack in later code. */
const MAX_PARAMS_DEPTH = 100;
/** Including the message around the parameters. */
const MAX_DEPTH = MAX_PARAMS_DEPTH + 1;
/** Including the batch around the message. A deeper body is not parsed, because that would be expensive. */
export const MAX_BODY_DEPTH = MAX_DEPTH + 1;
/** The fewest bytes that a body needs to exceed one of the bounds. */
const leastBytesBeyond = (bounds: BodyBounds): number =>
  2 * Math.min(bounds.depth, bounds.members) + 1;

/**
 * Reads a JSON-RPC 2.0 request or batch.
 *
 * @param maxBatch The maximum number of members of a batch.
 * @throws RpcError for a body that is not JSON, an empty batch, and a batch that is too large. The error of a single
 *   message is in that message (docs/errors.md).
 */
export function readRequest(body: Buffer, maxBatch: number): RequestBody {
  const message = readPlainCall(body);
  return message ? { kind: "single", message } : readOther(body, maxBatch);
}

/** As `readRequest`, for a body that is not a plain call. @param tooLarge Makes the error for a larger batch. */
export function readOther(body: Buffer, maxBatch: number, tooLarge?: () => RpcError): RequestBody {
  const messages = readPlainBatch(body, maxBatch);
  return messages ? { kind: "batch", messages } : readFully(body, maxBatch, tooLarge);
}

/** As `readRequest`, but slower for plain calls and batches. */
export function readFully(
  body: Buffer,
  maxBatch: number,
  tooLarge: () => RpcError = errors.batchTooLarge,
): RequestBody {
  const bounds = { depth: MAX_BODY_DEPTH, members: maxBatch };
  let marks: number[] | undefined;
  if (body.length >= leastBytesBeyond(bounds)) {
    marks = [];
    const verdict = new BodyScan(bounds).take(body, marks);
    if (verdict === "too many members") throw tooLarge();
    if (verdict === "too deep") return { kind: "single", message: tooDeep(body) };
  }
  const text = textOfBody(body);
  const parsed = parse(text);
  if (!Array.isArray(parsed)) return { kind: "single", message: readMessage(body, text, parsed) };
  if (parsed.length === 0) throw errors.emptyBatch();
  if (parsed.length > maxBatch) throw tooLarge();
  const spans = marks ? spansBetween(marks, body) : (findElements(body) ?? []);
  return {
    kind: "batch",
    messages: parsed.map((value: unknown, index) => {
      const { start, end } = spans[index] ?? { start: 0, end: 0 };
      const json = body.subarray(start, end);
      return readMessage(json, json.toString("utf8"), value);
    }),
  };
}

/** The spans of a batch's members, from one bracket or comma to the next, without the spaces around them. */
const spansBetween = (marks: readonly number[], body: Buffer): Span[] =>
  marks.slice(1).map((mark, index) => {
    let start = (marks[index] ?? 0) + 1;
    let end = mark;
    while (isSpace(body[start])) start += 1;
    while (isSpace(body[end - 1])) end -= 1;
    return { start, end };
  });

function textOfBody(body: Buffer): string {
  // JSON is UTF-8 (RFC 8259); decoding would silently replace invalid bytes.
  if (!isUtf8(body)) throw errors.parseError();
  return body.toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw errors.parseError(cause);
  }
}

function readMessage(json: Buffer, text: string, value: unknown): Message {
  if (!isObject(value)) return invalid("null", errors.invalidRequest());
  const idText = idTextOf(json, text, value["id"]);
  if (!isId(idText)) {
    return invalid("null", errors.invalidRequest("id must be an integer or a string"));
  }
  const unreadable = whyUnreadable({ json, text, value }, MAX_DEPTH);
  const ambiguity = unreadable === undefined ? undefined : ambiguityOfParams(json, unreadable);
  const wrong = whatIsWrong(value) ?? (ambiguity === undefined ? unreadable : undefined);
  if (wrong) return invalid(idText ?? "null", errors.invalidRequest(wrong));
  return {
    kind: "call",
    id: idText ?? DEFAULT_ID,
    method: value["method"] as string,
    params: (value["params"] as unknown[] | null | undefined) ?? [],
    ambiguity,
    json,
  };
}

/** The id as the caller wrote it. A plainly written id needs no search through the bytes. */
function idTextOf(json: Buffer, text: string, id: unknown): string | undefined {
  if (id === undefined) return undefined;
  const plain = typeof id === "number" || typeof id === "string" ? JSON.stringify(id) : undefined;
  if (plain && isWrittenPlainly(text, plain)) return plain;
  const [span] = findMembers(json, ["id"]) ?? [];
  return span && textOf(json, span);
}

/** Whether the text has no escapes and only one `"id"`, directly followed by this value. */
function isWrittenPlainly(text: string, value: string): boolean {
  const at = text.indexOf(`"id":${value}`);
  if (at < 0 || text.includes("\\") || text.lastIndexOf('"id"') !== text.indexOf('"id"'))
    return false;
  const next = text[at + '"id":'.length + value.length];
  return next === "," || next === "}";
}

/** The JSON text of the parameters as the caller wrote them, to be passed on to nodes. */
export function paramsJsonOf({
  json,
  params,
  paramsStart,
  paramsEnd,
}: Pick<CallMessage, "json" | "params" | "paramsStart" | "paramsEnd">): string {
  if (params.length === 0) return "[]";
  if (paramsStart !== undefined) return json.toString("latin1", paramsStart, paramsEnd);
  const [span] = findMembers(json, ["params"]) ?? [];
  return span ? textOf(json, span) : "[]";
}

function whatIsWrong(value: Record<string, unknown>): string | undefined {
  if (value["jsonrpc"] !== "2.0") return 'jsonrpc must be "2.0"';
  if (typeof value["method"] !== "string") return "method must be a string";
  const params = value["params"] ?? [];
  if (!Array.isArray(params)) return "params must be an array";
  return undefined;
}

/** Why readers may differ about the parameters; undefined when the ambiguity is elsewhere in the message. */
function ambiguityOfParams(json: Buffer, unreadable: string): string | undefined {
  if (unreadable === TOO_DEEP) return undefined;
  const [span] = findMembers(json, ["params"]) ?? [];
  return span && ambiguityIn(json.subarray(span.start, span.end));
}

/** The error for a body that nests too deep: it is not parsed, and its id is looked up only if the body is short. */
function tooDeep(body: Buffer): Message {
  const [span] = (body.length <= SHORT_BODY && findMembers(body, ["id"])) || [];
  const id = span && textOf(body, span);
  const error = errors.invalidRequest(TOO_DEEP);
  return invalid(id !== undefined && isPlainId(id) ? id : "null", error);
}

const SHORT_BODY = 65_536;

/** Whether an id is a number, or a short string without escapes; other text may be invalid, as it was never parsed. */
const isPlainId = (text: string): boolean => /^(-?(0|[1-9]\d*)|"[\w .:-]{0,100}")$/.test(text);

const invalid = (id: string, error: RpcError): Message => ({ kind: "invalid", id, error });

/** Whether an id is an integer of any size, a string, null, or left out. */
const isId = (text: string | undefined): boolean =>
  text === undefined || text === "null" || text.startsWith('"') || /^-?\d+$/.test(text);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
