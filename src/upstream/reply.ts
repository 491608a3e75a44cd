// What a node's answer means. Pure; the results themselves are never parsed.
import { findMembers, type Span, textOf } from "../jsonrpc/members.ts";
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
  if (error && textOf(body, error) !== "null") return readError(body, error);
  if (!idSpan || textOf(body, idSpan) !== String(id)) return failed("answer to another call");
  if (!result || status >= 300)
    return failed(result ? `HTTP ${status}` : "answer without a result");
  return { kind: "result", json: body.subarray(result.start, result.end) };
}

const failed = (reason: string): Reply => ({ kind: "failed", reason });

const RATE_LIMIT_CODES: ReadonlySet<number> = new Set([429, -32005, -32007, -32029]);
/** -32005 is also an honest "too many results", which another node would repeat. */
const RATE_LIMIT_WORDS =
  /rate|limit reached|request limit|capacity|request count|too many requests/i;
const ACCOUNT_WORDS = /unauthorized|authenticate|api key|project id|account/i;

/** An error may come without our id, or with null: a node that could not read it. */
function readError(body: Buffer, span: Span): Reply {
  const json = textOf(body, span);
  const error = parsed(json);
  const code = error?.["code"];
  if (!error || typeof code !== "number") return failed("malformed error");
  const message = typeof error["message"] === "string" ? error["message"] : "";
  if (code === -32601 || code === -32004) return { kind: "missing" };
  if (RATE_LIMIT_CODES.has(code) && RATE_LIMIT_WORDS.test(message)) return { kind: "busy" };
  if ((code === -32000 || code === -32002) && ACCOUNT_WORDS.test(message)) {
    return failed("the node refuses our account");
  }
  return { kind: "refused", code, message, json };
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
