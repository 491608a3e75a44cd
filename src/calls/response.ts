// What callers are sent back.
import type { AnswerJson } from "../jsonrpc/envelope.ts";
import { failure } from "../jsonrpc/envelope.ts";
import type { RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Provenance } from "../methods/method.ts";

/** Pieces of JSON to be written one after the other. */
export type RpcResponse = {
  readonly status: number;
  readonly pieces: readonly AnswerJson[];
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
  /** Set where the gateway has too much to do, in seconds. */
  readonly retryAfter?: number;
  /** What the answer stands on. */
  readonly provenance?: Provenance | undefined;
  /** What follows the pieces: made while the caller takes it, of a length that is not known. */
  readonly rest?: AsyncIterable<readonly AnswerJson[]>;
};

/** The answer when there is nothing but an error; also for what went wrong before any message was read. */
export function refusal(id: string, error: RpcError): RpcResponse {
  const reply = { status: error.status, pieces: [failure(id, error)] };
  if (error.status === 429) return { ...reply, rateLimit: error.data as RateLimit };
  return error.retryAfter === undefined ? reply : { ...reply, retryAfter: error.retryAfter };
}
