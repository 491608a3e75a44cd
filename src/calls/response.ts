// JSON-RPC responses on their way to callers, and the envelopes of errors.
import { type AnswerJson, type BatchResponseBuffer, lengthOf } from "../jsonrpc/raw-json.ts";
import type { RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Provenance } from "../methods/method.ts";
import type { ExplainedIn } from "../observe/story.ts";

/** A response to a body. Its bytes are the pieces, one after the other, and then those of `rest`. */
export type RpcResponse = {
  readonly status: number;
  readonly pieces: readonly AnswerJson[];
  /** The length of the pieces, in bytes. */
  readonly bytes: number;
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
  /** After so many seconds the caller may try again; set where the gateway is overloaded or restarting. */
  readonly retryAfter?: number;
  /** The source, the proof and the block of the answer. */
  readonly provenance?: Provenance | undefined;
  /** The call's story as JSON, for a header. */
  readonly explanation?: string;
  /** The pieces that follow. They are made while the caller takes the answer, so their length is not known. */
  readonly rest?: AsyncIterable<readonly AnswerJson[]>;
  /** The memory of some pieces. The sender may give it back once all pieces are sent or copied; else it is garbage. */
  readonly buffer?: Pick<BatchResponseBuffer, "bytes" | "giveBack"> | undefined;
};

/**
 * The response with one error.
 *
 * @param id JSON text, with the characters that the caller sent; `null` for an error before any message was read.
 */
export function refusal(id: string, error: RpcError): RpcResponse {
  const { code, message, data } = error;
  const json = error.json ?? JSON.stringify({ code, message, data });
  const pieces = [`{"jsonrpc":"2.0","id":${id},"error":${json}}`];
  const response = { status: error.status, pieces, bytes: lengthOf(pieces) };
  if (error.status === 429) return { ...response, rateLimit: error.data as RateLimit };
  return error.retryAfter === undefined ? response : { ...response, retryAfter: error.retryAfter };
}

/** Adds the explanation, for a header or as a member of the envelope. @param explanation JSON in ASCII. */
export function explained(
  response: RpcResponse,
  where: ExplainedIn,
  explanation: string,
): RpcResponse {
  if (where === "header") return { ...response, explanation };
  const member = `,"headgate_explain":${explanation}}`;
  const last = response.pieces.at(-1);
  // The envelope of one call ends with its brace: at the end of a text, or of bytes in the batch's buffer.
  const closing =
    typeof last === "string"
      ? [`${last.slice(0, -1)}${member}`]
      : [...(Buffer.isBuffer(last) ? [last.subarray(0, -1)] : []), member];
  const pieces = [...response.pieces.slice(0, -1), ...closing];
  return { ...response, pieces, bytes: response.bytes + member.length - 1 };
}
