// The responses that callers are sent.
import { type AnswerJson, type AnswerRoom, lengthOf } from "../jsonrpc/raw-json.ts";
import type { RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Provenance } from "../methods/method.ts";
import type { ExplainedIn } from "../observe/story.ts";

/** The body is the pieces, one after the other. */
export type RpcResponse = {
  readonly status: number;
  readonly pieces: readonly AnswerJson[];
  /** The length of the pieces. */
  readonly bytes: number;
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
  /** In seconds; set where the gateway is overloaded. */
  readonly retryAfter?: number;
  /** What the answer stands on. */
  readonly provenance?: Provenance | undefined;
  /** How the answer came about, for a header. */
  readonly explanation?: string;
  /** Follows the pieces. It is made while the caller takes it, so its length is not known. */
  readonly rest?: AsyncIterable<readonly AnswerJson[]>;
  /** The memory of some pieces. Whoever has sent or copied all of them may give it back, else it becomes garbage. */
  readonly room?: Pick<AnswerRoom, "bytes" | "giveBack"> | undefined;
};

/** A response that is one error; also for errors before any message was read. */
export function refusal(id: string, error: RpcError): RpcResponse {
  const pieces = [failure(id, error)];
  const response = { status: error.status, pieces, bytes: lengthOf(pieces) };
  if (error.status === 429) return { ...response, rateLimit: error.data as RateLimit };
  return error.retryAfter === undefined ? response : { ...response, retryAfter: error.retryAfter };
}

/** @param id JSON text: the very characters that the caller sent. */
const failure = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${error.json ?? errorObject(error)}}`;

const errorObject = ({ code, message, data }: RpcError): string =>
  JSON.stringify(data === undefined ? { code, message } : { code, message, data });

/** The same response, with the explanation. @param explanation JSON, in ASCII. */
export function explained(
  response: RpcResponse,
  where: ExplainedIn,
  explanation: string,
): RpcResponse {
  if (where === "header") return { ...response, explanation };
  const member = `,"headgate_explain":${explanation}}`;
  const last = response.pieces.at(-1);
  // The envelope of one call ends with its brace: in a text, or in bytes of its batch's room.
  const closing =
    typeof last === "string"
      ? [`${last.slice(0, -1)}${member}`]
      : [...(Buffer.isBuffer(last) ? [last.subarray(0, -1)] : []), member];
  const pieces = [...response.pieces.slice(0, -1), ...closing];
  return { ...response, pieces, bytes: response.bytes + member.length - 1 };
}
