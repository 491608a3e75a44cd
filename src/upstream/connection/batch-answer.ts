// What a node made of several calls sent as one request. Pure; each answer stays the bytes that came.
import { findElements, findMembers, textOf } from "../../jsonrpc/members.ts";
import { plainResultIn, readReply } from "../reply.ts";
import { type AnsweredExchange, type Exchange, idOf } from "./connection.ts";

export type BatchOutcome =
  /** Each call's own answer, by id; none where only the length of the others kept it from one. */
  | {
      readonly kind: "each";
      readonly exchanges: ReadonlyMap<number, Exchange>;
      /** There are no others beside these. */
      readonly isRight: boolean;
    }
  /** One thing became of all calls. `isForBatch`: perhaps only since they were together. */
  | { readonly kind: "all"; readonly exchange: Exchange; readonly isForBatch: boolean }
  /** The node does not take such a batch, or none at all. */
  | { readonly kind: "refused" }
  /** The calls may be fine; their answers are too long together. */
  | { readonly kind: "too large" };

/** For a batch of at least two calls. */
export function readBatchAnswer(exchange: Exchange): BatchOutcome {
  if (exchange.kind === "too large") return { kind: "too large" };
  if (exchange.kind !== "answered")
    return { kind: "all", exchange, isForBatch: isCutOff(exchange) };
  const { body } = exchange;
  const parts = findElements(body)?.map(({ start, end }) => body.subarray(start, end));
  // geth refuses with an array of one error, under the id of the first call.
  if (parts?.length === 1) return readLone({ ...exchange, body: parts[0] ?? body });
  if (parts && parts.length > 1 && parts.every(refusesBatch)) return { kind: "refused" };
  return parts ? eachOf(parts, exchange) : readLone(exchange);
}

/** The first answer to a call counts. */
function eachOf(parts: readonly Buffer[], whole: AnsweredExchange): BatchOutcome {
  const { status, retryAfterMs } = whole;
  const exchanges = new Map<number, Exchange>();
  const tooLarge = new Set<number>();
  for (const body of parts) {
    const plain = plainResultIn(body);
    const id = plain ? plain.id : idOf(body);
    if (id === undefined || Number.isNaN(id) || exchanges.has(id) || tooLarge.has(id)) continue;
    if (!plain && saysTooLarge(body)) tooLarge.add(id);
    else
      exchanges.set(id, { kind: "answered", status, body, members: plain?.members, retryAfterMs });
  }
  return { kind: "each", exchanges, isRight: exchanges.size === parts.length };
}

/** What becomes of a request whose socket is closed while it is read or answered. */
const CUT_OFF: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

const isCutOff = (exchange: Exchange): boolean =>
  exchange.kind === "unreachable" && CUT_OFF.has(exchange.reason);

/** These also stand for a batch where no error object says more. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 405, 413, 422, 501]);
const BATCH_WORD = /\bbatch/i;
/** In bytes: a text that is longer is a page, and its words are about other things. */
const LONGEST_TEXT = 1_000;

/** One object, or something else, for many calls. */
function readLone(exchange: AnsweredExchange): BatchOutcome {
  const { status, body } = exchange;
  if (saysTooLarge(body)) return { kind: "too large" };
  const reply = readReply(exchange, idOf(body) ?? 0);
  switch (reply.kind) {
    case "result":
      return eachOf([body], exchange);
    case "refused":
    case "missing": // the method that is not there is "batch"
      return { kind: "refused" };
    case "failed":
      if (REFUSING_STATUSES.has(status) || speaksOfBatches(body)) return { kind: "refused" };
      if (status === 500 && findMembers(body, ["error"])?.[0]) return { kind: "refused" };
      break;
    default: // busy: nothing is learned from it
  }
  return { kind: "all", exchange: forAll(exchange), isForBatch: reply.kind === "failed" };
}

const speaksOfBatches = (body: Buffer): boolean =>
  body.length <= LONGEST_TEXT && BATCH_WORD.test(body.toString("latin1"));

/** What a call says of itself, like the reason of a revert, has other codes. 31 is dRPC's. */
const refusesBatch = (body: Buffer): boolean =>
  speaksOfBatches(body) && /"code"\s*:\s*(-32(6\d\d|010)|31)\b/.test(body.toString("latin1"));

/** So that an error that bears the id of one call is read by all. */
function forAll(exchange: AnsweredExchange): Exchange {
  const { status, body } = exchange;
  const [error] = findMembers(body, ["error"]) ?? [];
  if (error) return { ...exchange, body: Buffer.from(`{"error":${textOf(body, error)}}`) };
  return status === 200 ? { kind: "unreachable", reason: "malformed answer" } : exchange;
}

/** geth's words, for the calls that found no room any more, and jsonrpsee's, for the whole. */
const TOO_LARGE = /"message"\s*:\s*"(the batch )?response (was )?too large"/i;

const saysTooLarge = (body: Buffer): boolean =>
  body.length <= LONGEST_TEXT && TOO_LARGE.test(body.toString("latin1"));
