// A node's message while it arrives: kept as one buffer, up to a length, and counted; and which call it answers,
// found without parsing it.
import { findMembers, textOf } from "../../jsonrpc/members.ts";
import type { MemoryBudget, MemoryHolder } from "../../lib/memory-budget.ts";
import type { BodyReader, ConnectionOptions } from "./connection.ts";

export type ArrivingMemory = Pick<MemoryBudget, "hold" | "release" | "admitsLargeAnswer">;

export type WholeBodyOptions = Pick<ConnectionOptions, "responseBytes"> & {
  /** A caller waits for it, who can be told to come back. */
  readonly isForCaller?: boolean | undefined;
  /** On whose behalf it waits; left out: the gateway's own, or of several keys. */
  readonly holder?: MemoryHolder | undefined;
};

/** In bytes: from here on an answer is large. */
const LARGE = 65_536;
/** In bytes: what is announced is believed so far. */
const MOST_AT_ONCE = 1 << 22;

export class WholeBody implements BodyReader {
  whenStopped: "too large" | "crowded" = "too large";
  /** Of the announced length, and filled so far; undefined: the chunks are joined at the end. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #options: WholeBodyOptions;
  readonly #memory: ArrivingMemory | undefined;

  constructor(options: WholeBodyOptions, memory?: ArrivingMemory) {
    this.#options = options;
    this.#memory = memory;
  }

  /** So far, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  announce(bytes: number): boolean {
    if (bytes > LARGE && bytes <= MOST_AT_ONCE) this.#whole = Buffer.allocUnsafeSlow(bytes);
    return !(bytes > this.#options.responseBytes);
  }

  add(chunk: Buffer): boolean {
    if (this.#whole && this.#bytes + chunk.length <= this.#whole.length)
      chunk.copy(this.#whole, this.#bytes);
    else this.#keep(chunk);
    this.#bytes += chunk.length;
    const { isForCaller, holder } = this.#options;
    this.#memory?.hold("arriving", chunk.length, holder);
    if (this.#bytes > this.#options.responseBytes) return false;
    const isSmall = !isForCaller || this.#bytes <= LARGE;
    if (isSmall || this.#memory?.admitsLargeAnswer(holder) !== false) return true;
    this.whenStopped = "crowded";
    return false;
  }

  finish(): Buffer {
    const whole = this.#whole ? this.#whole.subarray(0, this.#bytes) : this.#joined();
    this.drop();
    return whole;
  }

  /** It is of no use any more. */
  drop(): void {
    this.#memory?.release("arriving", this.#bytes, this.#options.holder);
    this.#bytes = 0;
    this.#chunks = [];
    this.#whole = undefined;
  }

  #keep(chunk: Buffer): void {
    // More came than was announced.
    if (this.#whole) this.#chunks.push(this.#whole.subarray(0, this.#bytes));
    this.#whole = undefined;
    this.#chunks.push(chunk);
  }

  #joined(): Buffer {
    const [only] = this.#chunks;
    // The chunks and the one buffer: the only moment at which two copies of an answer are there.
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
  }
}

/** In bytes: enough for a version and an id. */
export const NEAR_THE_EDGE = 64;

const FIRST = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/;
/** A quote behind a comma or a brace opens a name: within a string it would be escaped. */
const LAST = /[{,]\s*"id"\s*:\s*(\d+)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$/;

/** undefined when it answers none; NaN when the id is none of ours. */
export function idOf(body: Buffer): number | undefined {
  // Most nodes write the id first; only for the others the whole message is searched.
  const early = idNearStart(body);
  if (early !== undefined) return early;
  const [span] = findMembers(body, ["id"]) ?? [];
  return span && Number(textOf(body, span));
}

export function idNearStart(body: Buffer): number | undefined {
  const id = FIRST.exec(body.toString("latin1", 0, NEAR_THE_EDGE))?.[2];
  return id === undefined ? undefined : Number(id);
}

/** @param body Ends where the message ends. */
export function idNearEnd(body: Buffer): number | undefined {
  const from = Math.max(0, body.length - NEAR_THE_EDGE);
  const id = LAST.exec(body.toString("latin1", from))?.[1];
  return id === undefined ? undefined : Number(id);
}
