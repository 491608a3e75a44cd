// Writes a reply: status, headers, and the pieces of JSON, compressed when that is worth it.
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { Reply } from "../calls/answer-body.ts";
import { type AnswerJson, lengthOf } from "../jsonrpc/envelope.ts";
import { PackedJson } from "../jsonrpc/packed-json.ts";

/** Below this many bytes, compressing costs more than it saves. */
const WORTH_COMPRESSING = 4096;
/** Up to this many bytes, one copied text is cheaper to send than several writes. */
const WORTH_JOINING = 16_384;

export type ResponseOptions = {
  readonly requestId: string;
  /** The Access-Control-Allow-Origin value; undefined: no page may read the answer. */
  readonly allowOrigin: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** A browser asks, and lets the page see only the headers it is told to. */
  readonly isPage: boolean;
  /** The connection ends with this response. */
  readonly close: boolean;
};

const EXPOSED_HEADERS =
  "X-Request-Id, X-Headgate-Block, X-Headgate-Source, X-Headgate-Proof, X-Headgate-Truncated, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/** @returns How many bytes of JSON were sent, before compression. */
export function respond(response: ServerResponse, reply: Reply, options: ResponseOptions): number {
  const bytes = lengthOf(reply.pieces);
  const headers = headersOf(reply, options);
  if (bytes >= WORTH_COMPRESSING && acceptsGzip(options.acceptEncoding)) {
    headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
    response.writeHead(reply.status, headers);
    sendCompressed(response, reply.pieces);
    return bytes;
  }
  headers.push("Content-Length", String(bytes));
  response.writeHead(reply.status, headers);
  send(response, reply.pieces, bytes);
  return bytes;
}

function headersOf({ status, rateLimit, notes }: Reply, options: ResponseOptions): string[] {
  const headers = ["Content-Type", "application/json", "X-Request-Id", options.requestId];
  if (options.allowOrigin) headers.push("Access-Control-Allow-Origin", options.allowOrigin);
  if (notes) headers.push("X-Headgate-Source", notes.source);
  if (notes?.proof) headers.push("X-Headgate-Proof", notes.proof);
  if (notes?.block) headers.push("X-Headgate-Block", `${notes.block.number} ${notes.block.hash}`);
  if (notes?.isCut) headers.push("X-Headgate-Truncated", "true");
  if (options.isPage) headers.push("Access-Control-Expose-Headers", EXPOSED_HEADERS);
  if (options.allowOrigin !== "*") headers.push("Vary", "Origin");
  if (options.close) headers.push("Connection", "close");
  if (status === 405) headers.push("Allow", "POST, OPTIONS");
  if (rateLimit) {
    const { limit, remaining, retryAfter } = rateLimit;
    headers.push("Retry-After", String(retryAfter), "X-RateLimit-Limit", String(limit));
    headers.push(
      "X-RateLimit-Remaining",
      String(remaining),
      "X-RateLimit-Reset",
      String(retryAfter),
    );
  }
  return headers;
}

function send(response: ServerResponse, pieces: readonly AnswerJson[], bytes: number): void {
  if (bytes <= WORTH_JOINING) {
    // As latin1 every byte is one character: headers and body leave in one write, without encoding.
    response.end(latin1Of(pieces, bytes), "latin1");
    return;
  }
  if (pieces.some((piece) => piece instanceof PackedJson)) {
    // A caller who leaves in the middle ends the pipeline; there is nobody left to tell.
    pipeline(Readable.from(unpacked(pieces)), response).catch(() => response.destroy());
    return;
  }
  response.cork();
  for (const piece of pieces) response.write(piece);
  response.end();
}

/** One chunk after the other, as the caller takes them. */
function* unpacked(pieces: readonly AnswerJson[]): Generator<string | Buffer> {
  for (const piece of pieces) {
    if (piece instanceof PackedJson) yield* piece.chunks();
    else yield piece;
  }
}

function latin1Of(pieces: readonly AnswerJson[], bytes: number): string {
  const [only] = pieces;
  const isAscii = pieces.length === 1 && typeof only === "string" && only.length === bytes;
  return isAscii ? only : joined(pieces, bytes).toString("latin1");
}

function joined(pieces: readonly AnswerJson[], bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const piece of pieces) {
    at += Buffer.isBuffer(piece) ? piece.copy(buffer, at) : buffer.write(String(piece), at);
  }
  return buffer;
}

function sendCompressed(response: ServerResponse, pieces: readonly AnswerJson[]): void {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // A caller who leaves in the middle ends the pipeline; there is nobody left to tell.
  pipeline(Readable.from(unpacked(pieces)), gzip, response).catch(() => response.destroy());
}

/** Whether an Accept-Encoding header asks for gzip (RFC 9110: `q=0` means no). */
export const acceptsGzip = (accept: string | undefined): boolean =>
  accept
    ?.toLowerCase()
    .split(",")
    .some((entry) => {
      const [coding, ...parameters] = entry.split(";").map((part) => part.trim());
      return coding === "gzip" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    }) ?? false;
