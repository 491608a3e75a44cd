// What a node's answer means. Pure; the results themselves are never parsed.
import { findMembers, type Span, textOf } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/parsed.ts";
import type { Exchange } from "./connection/connection.ts";

export type Reply =
  | { readonly kind: "result"; readonly json: Buffer }
  /** The node understood and said no; `json` is its error object as it came. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly message: string;
      readonly json: string;
    }
  /** This node does not have the method. */
  | { readonly kind: "missing" }
  /** Asked too often. */
  | { readonly kind: "busy" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "aborted" };

/** @param id The number that the request had. */
export function readReply(exchange: Exchange, id: number): Reply {
  switch (exchange.kind) {
    case "answered":
      return readAnswer(exchange, id);
    case "unreachable":
      return { kind: "failed", reason: exchange.reason };
    case "too large":
      return { kind: "failed", reason: "the answer is larger than limits.response" };
    case "timeout":
    case "aborted":
      return { kind: exchange.kind };
  }
}

function readAnswer({ status, body }: { status: number; body: Buffer }, id: number): Reply {
  if (status === 429) return { kind: "busy" };
  if (status === 401 || status === 403 || status >= 500) return failed(`HTTP ${status}`);
  const members = findMembers(body, ["id", "result", "error"]);
  if (!members) return failed(status === 200 ? "malformed answer" : `HTTP ${status}`);
  const [idSpan, result, error] = members;
  const answered = idSpan && textOf(body, idSpan);
  if (error && textOf(body, error) !== "null") {
    // An error may come without our id, or with null: a node that could not read it.
    const isOurs = answered === undefined || answered === "null" || answered === String(id);
    return isOurs ? readError(textOf(body, error)) : failed("answer to another call");
  }
  if (answered !== String(id)) return failed("answer to another call");
  if (status >= 300) return failed(`HTTP ${status}`);
  if (!result) return failed("answer without a result");
  return isValue(body, result)
    ? { kind: "result", json: body.subarray(result.start, result.end) }
    : failed("malformed answer");
}

const failed = (reason: string): Reply => ({ kind: "failed", reason });

const LONGEST_WORD = 64;

/** Strings and nested values are known to be closed; what stands bare may be anything, like NaN. */
function isValue(body: Buffer, { start, end }: Span): boolean {
  if (/["{[]/.test(String.fromCharCode(body[start] ?? 0))) return true;
  return end - start <= LONGEST_WORD && parsed(body.subarray(start, end)) !== undefined;
}

/** -32005 is also an honest "too many results", which another node would repeat. */
const RATE_LIMIT_CODES: ReadonlySet<number> = new Set([-32005, -32007, -32029]);
const RATE_LIMIT_WORDS =
  /\brate\b|rate.?limit|limit reached|request limit|capacity|request count|too many requests/i;
/** Codes that also stand for the refusal of a transaction, and for a contract's "Unauthorized". */
const ACCOUNT_CODES: ReadonlySet<number> = new Set([-32000, -32002]);
const ACCOUNT_WORDS = /unauthorized|authenticate|api key|project id/i;

function readError(json: string): Reply {
  const error = parsed(json);
  const { code, message: text } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code !== "number") return failed("malformed error");
  const message = typeof text === "string" ? text : "";
  if (code === -32601 || code === -32004) return { kind: "missing" };
  if (code === 429 || (RATE_LIMIT_CODES.has(code) && RATE_LIMIT_WORDS.test(message))) {
    return { kind: "busy" };
  }
  if (ACCOUNT_CODES.has(code) && ACCOUNT_WORDS.test(message) && !/revert/i.test(message)) {
    return failed("the node refuses our account");
  }
  return { kind: "refused", code, message, json };
}
