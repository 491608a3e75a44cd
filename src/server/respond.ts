// Writes a response: status, headers, and the pieces of JSON, compressed when that is worth it. What is large is
// written as the caller takes it: each chunk is made, or cut off, when the one before was taken.
import type { ServerResponse } from "node:http";
import type { Transform, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { RpcResponse } from "../calls/response.ts";
import {
  type AnswerJson,
  CHUNK_BYTES,
  isSource,
  lendChunk,
  type RawJson,
  wasWritten,
} from "../jsonrpc/raw-json.ts";
import type { Turns } from "../lib/turns.ts";
import { PlainResponse } from "./plain-front.ts";

/** Below this many bytes, compressing costs more than it saves. */
const WORTH_COMPRESSING = 4096;
/** Up to this many bytes, one copied text is cheaper to send than several writes. */
export const WORTH_JOINING = 16_384;
/** Up to this many bytes, all is written at once: how slowly they are taken is not seen, so they must be few. */
const WRITTEN_AT_ONCE = 131_072;

/** Of a request that was to begin something else than one response. */
export const REFUSED = { acceptEncoding: undefined, isPage: false, close: true } as const;

export type ResponseOptions = {
  readonly requestId: string;
  /** The Access-Control-Allow-Origin value; undefined: no page may read the answer. */
  readonly allowOrigin: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** A browser asks, and lets the page see only the headers it is told to. */
  readonly isPage: boolean;
  /** The connection ends with this response. */
  readonly close: boolean;
  /** Of a refused verb; left out: POST. */
  readonly allow?: string;
};

const EXPOSED_HEADERS =
  "X-Request-Id, X-Headgate-Block, X-Headgate-Source, X-Headgate-Proof, X-Headgate-Stale, X-Headgate-Truncated, X-Headgate-Explain, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

export type RespondParts = {
  readonly turns: Pick<Turns, "join" | "next">;
  /** The answer could not be made to its end: its connection was cut. */
  readonly onBroken: (error: unknown) => void;
};

/** @returns How many bytes of JSON were sent, before compression: at once, unless there are many. */
export function respond(
  response: ServerResponse | PlainResponse,
  answer: RpcResponse,
  options: ResponseOptions,
  parts: RespondParts,
): number | Promise<number> {
  const { pieces, rest, bytes, room } = answer;
  const headers = headersOf(answer, options);
  if ((rest || bytes >= WORTH_COMPRESSING) && acceptsGzip(options.acceptEncoding)) {
    headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
    response.writeHead(answer.status, headers);
    return stream(response, answer, createGzip({ level: constants.Z_BEST_SPEED }), parts);
  }
  if (!rest) headers.push("Content-Length", String(bytes));
  response.writeHead(answer.status, headers);
  if (bytes <= WORTH_JOINING && !rest) {
    // As latin1 every byte is one character: headers and body leave in one write, without encoding.
    response.end(latin1Of(pieces, bytes), "latin1");
    room?.giveBack();
    return bytes;
  }
  if (bytes > WRITTEN_AT_ONCE || room?.bytes || !isReady(answer))
    return stream(response, answer, undefined, parts);
  response.cork();
  for (const piece of answer.pieces) response.write(piece);
  response.end();
  return bytes;
}

/** As the caller takes it. An answer that breaks off ends with its connection, so that nobody takes it for whole. */
async function stream(
  response: ServerResponse | PlainResponse,
  answer: RpcResponse,
  gzip: Transform | undefined,
  { turns, onBroken }: RespondParts,
): Promise<number> {
  const to = gzip ?? response;
  const body = gzip && response instanceof PlainResponse ? response.asStream() : response;
  // A caller that leaves in the middle ends both: no answer can reach it any more.
  const sent =
    gzip && pipeline([gzip, body as Writable | ServerResponse]).catch(() => response.destroy());
  let bytes = 0;
  const put = (chunk: Buffer): boolean => {
    bytes += chunk.length;
    return to.write(chunk, (error) => {
      if (!error) wasWritten(chunk);
    });
  };
  try {
    // To wait for what is there already would take as long as to write it.
    if (isReady(answer)) {
      for (const chunk of readyChunks(answer)) {
        if (to.destroyed) return bytes;
        if (!put(chunk)) await drained(to);
      }
    } else {
      for await (const chunk of answerChunks(answer, turns)) {
        if (to.destroyed) return bytes;
        if (!put(chunk)) await drained(to);
      }
    }
  } catch (error) {
    if (!response.destroyed) onBroken(error);
    response.destroy();
    return bytes;
  }
  if (gzip) gzip.end();
  await (sent ?? ended(response));
  answer.room?.giveBack();
  return bytes;
}

/** There is room again, or nobody takes it any more. */
function drained(to: Writable | ServerResponse | PlainResponse): Promise<void> {
  return new Promise((resolve) => {
    if (to instanceof PlainResponse) {
      to.whenDrained(resolve);
      return;
    }
    const done = (): void => {
      to.off("drain", done).off("close", done);
      resolve();
    };
    to.on("drain", done).on("close", done);
  });
}

/** All was handed to the system, or never will be. */
function ended(response: ServerResponse | PlainResponse): Promise<unknown> {
  if (response instanceof PlainResponse)
    return new Promise((resolve) => response.end("", "latin1", resolve));
  response.end();
  return finished(response).catch(() => undefined);
}

function headersOf(
  { status, rateLimit, retryAfter, provenance, explanation }: RpcResponse,
  options: ResponseOptions,
): string[] {
  const headers = ["Content-Type", "application/json", "X-Request-Id", options.requestId];
  if (options.allowOrigin) headers.push("Access-Control-Allow-Origin", options.allowOrigin);
  if (provenance) headers.push("X-Headgate-Source", provenance.source);
  if (provenance?.proof) headers.push("X-Headgate-Proof", provenance.proof);
  if (provenance?.block)
    headers.push("X-Headgate-Block", `${provenance.block.number} ${provenance.block.hash}`);
  if (provenance?.staleMs !== undefined)
    headers.push("X-Headgate-Stale", String(Math.round(provenance.staleMs / 1000)));
  if (provenance?.isCut) headers.push("X-Headgate-Truncated", "true");
  if (explanation !== undefined) headers.push("X-Headgate-Explain", explanation);
  if (options.isPage) headers.push("Access-Control-Expose-Headers", EXPOSED_HEADERS);
  if (options.allowOrigin !== "*") headers.push("Vary", "Origin");
  if (options.close) headers.push("Connection", "close");
  if (retryAfter !== undefined) headers.push("Retry-After", String(retryAfter));
  if (status === 405) headers.push("Allow", options.allow ?? "POST, OPTIONS");
  if (rateLimit) {
    const { limit, remaining, retryAfter: reset } = rateLimit;
    headers.push("Retry-After", String(reset), "X-RateLimit-Limit", String(limit));
    headers.push("X-RateLimit-Remaining", String(remaining), "X-RateLimit-Reset", String(reset));
  }
  return headers;
}

function latin1Of(pieces: readonly AnswerJson[], bytes: number): string {
  let text = "";
  for (const piece of pieces)
    if (typeof piece === "string") text += piece;
    else if (!isSource(piece)) text += piece.toString("latin1");
  // As long as its bytes: then its texts are ASCII. Else they are written as bytes first.
  return text.length === bytes ? text : joined(pieces, bytes).toString("latin1");
}

export function joined(pieces: readonly AnswerJson[], bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") at += buffer.write(piece, at);
    else
      for (const chunk of isSource(piece) ? piece.chunks() : [piece]) at += chunk.copy(buffer, at);
  }
  return buffer;
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

// How slowly a caller takes its answer is seen in chunks, and small pieces are joined in one, since each write costs.

/** In bytes: what is larger is a chunk of its own. */
const WORTH_NO_COPY = CHUNK_BYTES / 2;
/** Of one character, in UTF-8. */
const MOST_BYTES = 3;
/** In characters. */
const SHORT = 10_000;

/** @throws When what the answer is made from is gone: it must not look whole then. */
export async function* answerChunks(
  { pieces, rest }: Pick<RpcResponse, "pieces" | "rest">,
  turns: Pick<Turns, "join" | "next">,
): AsyncGenerator<Buffer> {
  const small = new SmallPieces();
  for await (const some of inParts(pieces, rest)) {
    for (const chunk of small.chunksOf(some)) {
      if (turns.join() === "over") await turns.next();
      yield chunk;
    }
  }
  yield* small.take();
}

async function* inParts(
  pieces: readonly AnswerJson[],
  rest: RpcResponse["rest"],
): AsyncGenerator<readonly AnswerJson[]> {
  yield pieces;
  if (rest) yield* rest;
}

type ReadyResponse = RpcResponse & { readonly pieces: readonly RawJson[] };

/** Nothing of it is made while it is sent. */
const isReady = (answer: RpcResponse): answer is ReadyResponse =>
  !answer.rest && !answer.pieces.some(isSource);

function* readyChunks({ pieces, bytes }: ReadyResponse): Iterable<Buffer> {
  const characters = pieces.reduce((sum, { length }) => sum + length, 0);
  const small = new SmallPieces(characters === bytes);
  yield* small.chunksOf(pieces);
  yield* small.take();
}

/** Each at most a chunk long, but for those of a source. A short text needs no buffer of its own. */
function* partsOf(piece: AnswerJson): Iterable<RawJson> {
  if (isSource(piece)) {
    yield* piece.chunks();
    return;
  }
  if (typeof piece === "string" && piece.length <= SHORT) {
    yield piece;
    return;
  }
  const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** What is small is written into one chunk after the other: to count a text's bytes first costs as much as to write it. */
class SmallPieces {
  #chunk: Buffer | undefined;
  #at = 0;
  readonly #isAscii: boolean;

  constructor(isAscii = false) {
    this.#isAscii = isAscii;
  }

  /** But for the last bytes, which `take` gives: more may follow them. */
  *chunksOf(pieces: readonly AnswerJson[]): Iterable<Buffer> {
    for (const piece of pieces) {
      if (typeof piece === "string" && piece.length <= SHORT && this.#add(piece)) continue;
      for (const part of partsOf(piece)) {
        if (this.#add(part)) continue;
        yield* this.take();
        if (!this.#add(part)) yield typeof part === "string" ? Buffer.from(part) : part;
      }
    }
  }

  /** @returns false when there is no room for it. */
  #add(piece: RawJson): boolean {
    const isWide = typeof piece === "string" && !this.#isAscii;
    const most = isWide ? piece.length * MOST_BYTES : piece.length;
    if (this.#at + most > CHUNK_BYTES || most >= WORTH_NO_COPY) return false;
    this.#chunk ??= lendChunk();
    this.#at +=
      typeof piece === "string"
        ? this.#chunk.write(piece, this.#at, this.#isAscii ? "latin1" : "utf8")
        : piece.copy(this.#chunk, this.#at);
    return true;
  }

  *take(): Iterable<Buffer> {
    if (this.#chunk) yield this.#chunk.subarray(0, this.#at);
    this.#chunk = undefined;
    this.#at = 0;
  }
}
