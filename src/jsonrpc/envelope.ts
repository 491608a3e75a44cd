// Response envelopes, spliced from the caller's id and a result or error that is JSON already.
import type { RpcError } from "./rpc-error.ts";

/** JSON text that is passed on as it is: text made here, or the bytes of a node. */
export type RawJson = string | Buffer;

/** JSON text too large to be held: it is made while its reader takes it. */
export type JsonSource = {
  /** Of the text, in bytes. */
  readonly length: number;
  /** What is held meanwhile, in bytes. */
  readonly heldBytes: number;
  /** The text from its start. @throws When what it is made from is gone. */
  chunks(): Iterable<Buffer>;
};

/** What callers are answered: also text that is too large to be held. */
export type AnswerJson = RawJson | JsonSource;

export const isSource = (json: AnswerJson): json is JsonSource =>
  typeof json !== "string" && !Buffer.isBuffer(json);

/** In bytes of UTF-8. */
export const lengthOf = (pieces: readonly AnswerJson[]): number =>
  pieces.reduce(
    (sum, piece) => sum + (typeof piece === "string" ? Buffer.byteLength(piece) : piece.length),
    0,
  );

/** What the pieces take in memory, in bytes. */
export const heldBytesOf = (pieces: readonly AnswerJson[]): number =>
  pieces.reduce((sum, piece) => sum + (isSource(piece) ? piece.heldBytes : piece.length), 0);

/** `id` is JSON text too: the very characters that the caller sent. */
export const successBefore = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`;
export const successAfter = "}";

export const failure = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${error.json ?? errorObject(error)}}`;

const errorObject = ({ code, message, data }: RpcError): string =>
  JSON.stringify(data === undefined ? { code, message } : { code, message, data });
