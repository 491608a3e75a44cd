// Response envelopes, spliced from the caller's id and a result or error that is JSON already.
import type { PackedJson } from "./packed-json.ts";
import type { RpcError } from "./rpc-error.ts";

/** JSON text that is passed on as it is: text made here, or the bytes of a node. */
export type RawJson = string | Buffer;

/** What callers are answered: also text that is too large to be held. */
export type AnswerJson = RawJson | PackedJson;

/** In bytes of UTF-8. */
export const lengthOf = (pieces: readonly AnswerJson[]): number =>
  pieces.reduce(
    (sum, piece) => sum + (typeof piece === "string" ? Buffer.byteLength(piece) : piece.length),
    0,
  );

/** `id` is JSON text too: the very characters that the caller sent. */
export const successBefore = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`;
export const successAfter = "}";

export const failure = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${error.json ?? errorObject(error)}}`;

const errorObject = ({ code, message, data }: RpcError): string =>
  JSON.stringify(data === undefined ? { code, message } : { code, message, data });
