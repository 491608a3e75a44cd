// What callers are sent back.
import { type AnswerJson, type AnswerRoom, lengthOf } from "../jsonrpc/raw-json.ts";
import type { RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Provenance } from "../methods/method.ts";
import type { ExplainedIn } from "../observe/story.ts";

/** Pieces of JSON to be written one after the other. */
export type RpcResponse = {
  readonly status: number;
  readonly pieces: readonly AnswerJson[];
  /** Of the pieces. */
  readonly bytes: number;
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
  /** Set where the gateway has too much to do, in seconds. */
  readonly retryAfter?: number;
  /** What the answer stands on. */
  readonly provenance?: Provenance | undefined;
  /** How it came about, for a header. */
  readonly explanation?: string;
  /** What follows the pieces: made while the caller takes it, of a length that is not known. */
  readonly rest?: AsyncIterable<readonly AnswerJson[]>;
  /** Where parts of the pieces lie: whoever has copied or sent all of them gives it back. Else it is garbage. */
  readonly room?: Pick<AnswerRoom, "bytes" | "giveBack"> | undefined;
};

/** The answer when there is nothing but an error; also for what went wrong before any message was read. */
export function refusal(id: string, error: RpcError): RpcResponse {
  const pieces = [failure(id, error)];
  const response = { status: error.status, pieces, bytes: lengthOf(pieces) };
  if (error.status === 429) return { ...response, rateLimit: error.data as RateLimit };
  return error.retryAfter === undefined ? response : { ...response, retryAfter: error.retryAfter };
}

/** @param id JSON text too: the very characters that the caller sent. */
const failure = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${error.json ?? errorObject(error)}}`;

const errorObject = ({ code, message, data }: RpcError): string =>
  JSON.stringify(data === undefined ? { code, message } : { code, message, data });

/** The same, with how it came about. @param explanation JSON, in ASCII. */
export function explained(
  response: RpcResponse,
  where: ExplainedIn,
  explanation: string,
): RpcResponse {
  if (where === "header") return { ...response, explanation };
  const member = `,"headgate_explain":${explanation}}`;
  const last = response.pieces.at(-1);
  // The envelope of one call ends with its brace: of a text, or of bytes in the room of its batch.
  const closing =
    typeof last === "string"
      ? [`${last.slice(0, -1)}${member}`]
      : [...(Buffer.isBuffer(last) ? [last.subarray(0, -1)] : []), member];
  const pieces = [...response.pieces.slice(0, -1), ...closing];
  return { ...response, pieces, bytes: response.bytes + member.length - 1 };
}
