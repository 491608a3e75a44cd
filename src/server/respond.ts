// Writes a response: status, headers, and the pieces of JSON, compressed where that is worth it. Makes each chunk of a
// large answer when the caller has taken the chunk before.
import type { ServerResponse } from "node:http";
import type { Transform, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { RpcResponse } from "../calls/response.ts";
import {
  type AnswerJson,
  CHUNK_BYTES,
  giveBackLent,
  isSource,
  lendChunk,
  type RawJson,
} from "../jsonrpc/raw-json.ts";
import type { Turns } from "../lib/turns.ts";
import { PlainResponse } from "./plain-front.ts";

/** In bytes: a smaller answer is not compressed, since compression would cost more than it saves. */
const WORTH_COMPRESSING = 4096;
/** In bytes: a smaller answer is copied into one text, which is cheaper than several writes. */
export const WORTH_JOINING = 16_384;
/** In bytes: a smaller answer is written at once, without a look at how slowly the caller takes it. */
const WRITTEN_AT_ONCE = 131_072;

/** The ready chunks of one write: each write wakes the reader. `SlowReaders` sees that a part of a write was taken. */
const CHUNKS_AT_ONCE = 2;

/** In bytes: the longest write to Node's HTTP. Over HTTP/2, only whole writes tell what the caller has taken. */
const SEEN_TAKEN = 32_768;

/** The options of a response that refuses a WebSocket or an event stream. */
export const REFUSED = { acceptEncoding: undefined, isPage: false, close: true } as const;

export type ResponseOptions = {
  readonly requestId: string;
  /** The value of Access-Control-Allow-Origin; undefined: no page may read the answer. */
  readonly allowOrigin: string | undefined;
  readonly acceptEncoding: string | undefined;
  /** Whether a page in a browser asks: the browser shows it only the headers that the response exposes. */
  readonly isPage: boolean;
  /** Whether the connection ends with this response. */
  readonly close: boolean;
  /** The verb that is allowed, for a refused verb; left out: POST. */
  readonly allow?: string;
};

const EXPOSED_HEADERS =
  "X-Request-Id, X-Headgate-Block, X-Headgate-Source, X-Headgate-Proof, X-Headgate-Stale, X-Headgate-Truncated, X-Headgate-Explain, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

export type RespondParts = {
  readonly turns: Pick<Turns, "join" | "next">;
  /** Called when an answer could not be finished, and its connection was cut off. */
  readonly onBroken: (error: unknown) => void;
};

/** Sends a response. @returns The bytes of JSON that were sent, before compression; a promise for a streamed answer. */
export function respond(
  response: ServerResponse | PlainResponse,
  answer: RpcResponse,
  options: ResponseOptions,
  parts: RespondParts,
): number | Promise<number> {
  const { pieces, rest, bytes, buffer } = answer;
  const headers = headersOf(answer, options);
  if ((rest || bytes >= WORTH_COMPRESSING) && acceptsGzip(options.acceptEncoding)) {
    headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
    response.writeHead(answer.status, headers);
    return stream(response, answer, createGzip({ level: constants.Z_BEST_SPEED }), parts);
  }
  if (!rest) headers.push("Content-Length", String(bytes));
  response.writeHead(answer.status, headers);
  if (bytes <= WORTH_JOINING && !rest) {
    // In latin1 each byte is one character, so headers and body leave in one write without encoding.
    response.end(latin1Of(pieces, bytes), "latin1");
    buffer?.giveBack();
    return bytes;
  }
  if (bytes > WRITTEN_AT_ONCE || buffer?.bytes || !isReady(answer))
    return stream(response, answer, undefined, parts);
  response.cork();
  for (const piece of answer.pieces) response.write(piece);
  response.end();
  return bytes;
}

/** Writes an answer as the caller takes it. An answer that breaks off ends its connection, so as not to look whole. */
async function stream(
  response: ServerResponse | PlainResponse,
  answer: RpcResponse,
  gzip: Transform | undefined,
  { turns, onBroken }: RespondParts,
): Promise<number> {
  const to = gzip ?? response;
  const body = gzip && response instanceof PlainResponse ? response.asStream() : response;
  // A caller that leaves during the answer ends both streams, since no further answer can reach it.
  const sent =
    gzip && pipeline([gzip, body as Writable | ServerResponse]).catch(() => response.destroy());
  let bytes = 0;
  let unwritten = 0;
  let isOver = false;
  const giveBackRoom = (): void => {
    if (isOver && unwritten === 0) answer.buffer?.giveBack();
  };
  const isPlain = to instanceof PlainResponse;
  const put = (chunk: Buffer): boolean => {
    bytes += chunk.length;
    unwritten += 1;
    let at = 0;
    if (!isPlain && !gzip)
      for (; chunk.length - at > SEEN_TAKEN; at += SEEN_TAKEN)
        to.write(chunk.subarray(at, at + SEEN_TAKEN));
    return to.write(at === 0 ? chunk : chunk.subarray(at), () => {
      unwritten -= 1;
      giveBackLent(chunk);
      giveBackRoom();
    });
  };
  try {
    // Ready chunks are written without turns, since writing a chunk takes no longer than waiting for a turn.
    if (isReady(answer)) {
      let together = 0;
      for (const chunk of readyChunks(answer)) {
        if (to.destroyed) return bytes;
        if (together === 0 && isPlain) to.cork();
        together = (together + 1) % CHUNKS_AT_ONCE;
        const hasRoom = put(chunk);
        if (together > 0) continue;
        if (isPlain) to.uncork();
        if (!hasRoom) await drained(to);
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
  } finally {
    // The system may still read the last chunks for a caller that left: the buffer is given back when all are written.
    isOver = true;
    giveBackRoom();
  }
  if (gzip) gzip.end();
  await (sent ?? ended(response));
  return bytes;
}

/** Resolves when the response has room again, or the caller has left. */
function drained(to: Writable | ServerResponse | PlainResponse): Promise<void> {
  const target = to instanceof PlainResponse ? to.socket : to;
  return new Promise((resolve) => {
    const done = (): void => {
      target.off("drain", done).off("close", done);
      resolve();
    };
    target.on("drain", done).on("close", done);
  });
}

/** Ends the response. Resolves when the system has taken all bytes, or never will. */
function ended(response: ServerResponse | PlainResponse): Promise<unknown> {
  if (response instanceof PlainResponse)
    return new Promise((resolve) => response.end("", "latin1", resolve));
  // `finished` would wait for ever: an HTTP/2 response whose stream has ended emits no further event.
  if (response.destroyed) return Promise.resolve();
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
  // A text with as many characters as bytes is ASCII. All other texts are encoded first.
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

/** In bytes: a larger piece is a chunk of its own. Smaller pieces are joined, since each write costs. */
const WORTH_NO_COPY = CHUNK_BYTES / 2;
/** The most bytes of one character in UTF-8. */
const MOST_BYTES = 3;
/** In characters: a shorter text is written into a chunk without a buffer of its own. */
const SHORT = 10_000;

/** The chunks of an answer, made in turns. @throws Error when the source of the answer is gone. */
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

/** Whether the whole answer is made before it is sent. */
const isReady = (answer: RpcResponse): answer is ReadyResponse =>
  !answer.rest && !answer.pieces.some(isSource);

function* readyChunks({ pieces, bytes }: ReadyResponse): Iterable<Buffer> {
  const characters = pieces.reduce((sum, { length }) => sum + length, 0);
  const small = new SmallPieces(characters === bytes);
  yield* small.chunksOf(pieces);
  yield* small.take();
}

/** Cuts a piece into parts of at most `CHUNK_BYTES`; a source makes its own chunks. */
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

/** Writes small pieces into chunks. It does not count a text's bytes first: that costs as much as writing the text. */
class SmallPieces {
  #chunk: Buffer | undefined;
  #at = 0;
  readonly #isAscii: boolean;

  constructor(isAscii = false) {
    this.#isAscii = isAscii;
  }

  /** The full chunks. More pieces may follow; `take` gives the last chunk. */
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

  /** @returns false when the chunk has no room for the piece. */
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
