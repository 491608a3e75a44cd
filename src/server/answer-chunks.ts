// An answer as the chunks in which it is written: each is made, or cut off, when the one before was taken.

import type { RpcResponse } from "../calls/response.ts";
import { type AnswerJson, isSource } from "../jsonrpc/raw-json.ts";
import type { Turns } from "../lib/turns.ts";

/**
 * In bytes: how slowly a caller takes its answer is seen in chunks, and small ones are joined, since each
 * is written by itself.
 */
const CHUNK = 65_536;

/** @throws When what the answer is made from is gone: it must not look whole then. */
export async function* answerChunks(
  { pieces, rest }: Pick<RpcResponse, "pieces" | "rest">,
  turns: Pick<Turns, "isOver" | "next">,
): AsyncGenerator<Buffer> {
  const small = new SmallPieces();
  for await (const some of inParts(pieces, rest)) {
    for (const piece of some) {
      for (const part of partsOf(piece)) {
        if (turns.isOver) await turns.next();
        if (small.add(part)) continue;
        yield* small.take();
        if (!small.add(part)) yield part;
      }
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

/** Each at most a chunk long, but for those of a source. */
function* partsOf(piece: AnswerJson): Iterable<Buffer> {
  if (isSource(piece)) {
    yield* piece.chunks();
    return;
  }
  const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
}

class SmallPieces {
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** @returns false when there is no room for it. */
  add(piece: Buffer): boolean {
    if (this.#bytes + piece.length > CHUNK) return false;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    return true;
  }

  *take(): Iterable<Buffer> {
    const [only] = this.#pieces;
    if (only) yield this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
  }
}
