// Reads a node's answer to several calls that were sent as one request. Pure; each answer keeps the bytes that came.
import { findElements, findMembers, textOf } from "../../jsonrpc/members.ts";
import { plainResultIn, readReply } from "../reply.ts";
import { type AnsweredExchange, type Exchange, idOf, isCutOff } from "./connection.ts";

export type BatchOutcome =
  /** The answers by id; a call has none where the node wrote instead that the response is too large. */
  | {
      readonly kind: "each";
      readonly exchanges: ReadonlyMap<number, Exchange>;
      /** Whether these are all elements of the answer: none without an id, none double, none too large. */
      readonly isRight: boolean;
    }
  /** All calls ended in the same way. `isForBatch`: perhaps only because they were one batch. */
  | { readonly kind: "all"; readonly exchange: Exchange; readonly isForBatch: boolean }
  /** The node does not take batches of this size, or no batches at all. */
  | { readonly kind: "refused" }
  /** The answers of the calls are too long together; each alone may be fine. */
  | { readonly kind: "too large" };

/** @param exchange The outcome of a batch of at least two calls. */
export function readBatchAnswer(exchange: Exchange): BatchOutcome {
  if (exchange.kind === "too large") return { kind: "too large" };
  if (exchange.kind !== "answered")
    return { kind: "all", exchange, isForBatch: wasCutOff(exchange) };
  const { body } = exchange;
  const parts = findElements(body)?.map(({ start, end }) => body.subarray(start, end));
  // geth refuses a batch with an array of one error, under the id of the first call.
  if (parts?.length === 1) return readLone({ ...exchange, body: parts[0] ?? body });
  if (parts && parts.length > 1 && parts.every(refusesBatch)) return { kind: "refused" };
  return parts ? eachOf(parts, exchange) : readLone(exchange);
}

/** Finds the answer to each call; of several answers to one call, the first counts. */
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

const wasCutOff = (exchange: Exchange): boolean =>
  exchange.kind === "unreachable" && isCutOff(exchange.reason);

/** HTTP statuses with which a node refuses a batch, where the body is no refusal by itself. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 405, 413, 422, 501]);
const BATCH_WORD = /\bbatch/i;
/** The longest text whose words are read, in bytes: a longer one is a page about other things. */
const LONGEST_TEXT = 1_000;

/** Reads an answer to many calls that is one object, or no JSON at all. */
function readLone(exchange: AnsweredExchange): BatchOutcome {
  const { status, body } = exchange;
  if (saysTooLarge(body)) return { kind: "too large" };
  const reply = readReply(exchange, idOf(body) ?? 0);
  switch (reply.kind) {
    case "result":
      return eachOf([body], exchange);
    case "refused":
    case "missing": // the node looked for a method in the array
      return { kind: "refused" };
    case "failed":
      if (REFUSING_STATUSES.has(status) || speaksOfBatches(body)) return { kind: "refused" };
      if (status === 500 && findMembers(body, ["error"])?.[0]) return { kind: "refused" };
      break;
    default: // busy: this says nothing about batches
  }
  return { kind: "all", exchange: forAll(exchange), isForBatch: reply.kind === "failed" };
}

const speaksOfBatches = (body: Buffer): boolean =>
  body.length <= LONGEST_TEXT && BATCH_WORD.test(body.toString("latin1"));

/** Checks the code too: the error of one call, such as a revert's reason, may speak of batches. 31 is dRPC's code. */
const refusesBatch = (body: Buffer): boolean =>
  speaksOfBatches(body) && /"code"\s*:\s*(-32(6\d\d|010)|31)\b/.test(body.toString("latin1"));

/** The exchange for each call of the batch: an error without its id, so that all calls read it as theirs. */
function forAll(exchange: AnsweredExchange): Exchange {
  const { status, body } = exchange;
  const [error] = findMembers(body, ["error"]) ?? [];
  if (error) return { ...exchange, body: Buffer.from(`{"error":${textOf(body, error)}}`) };
  return status === 200 ? { kind: "unreachable", reason: "malformed answer" } : exchange;
}

/** The words of geth for each call that found no room in the response, and of jsonrpsee for the whole batch. */
const TOO_LARGE = /"message"\s*:\s*"(the batch )?response (was )?too large"/i;

const saysTooLarge = (body: Buffer): boolean =>
  body.length <= LONGEST_TEXT && TOO_LARGE.test(body.toString("latin1"));
