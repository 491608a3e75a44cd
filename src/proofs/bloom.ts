// The bloom filter over the addresses and topics of logs, as in receipts and headers (Yellow Paper, 4.3.1).
import { keccakBytes } from "../evm/keccak.ts";
import type { LogMatcher } from "../evm/log-filter.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import { isJson, type Json } from "./json.ts";

/** The blooms of one block. */
export class BlockBloom {
  readonly #all = Buffer.alloc(BYTES);

  /** Adds the logs of a receipt. @returns Their own bloom, as DATA. */
  *add(logs: unknown): Work<string> {
    if (!Array.isArray(logs) || logs.length === 0) return NO_LOGS;
    const bloom = Buffer.alloc(BYTES);
    yield* eachInSteps(logs, (log) => this.#addLog(log, bloom));
    return `0x${bloom.toString("hex")}`;
  }

  #addLog(log: unknown, bloom: Buffer): void {
    const { address, topics } = isJson(log) ? log : ({} as Json);
    this.#addText(address, bloom);
    if (Array.isArray(topics)) for (const topic of topics) this.#addText(topic, bloom);
  }

  #addText(text: unknown, bloom: Buffer): void {
    if (typeof text !== "string") return;
    const first = findBits(text);
    for (let at = first; at < first + 3; at += 1) {
      const bit = bitsAt[at] ?? 0;
      const index = BYTES - 1 - (bit >> 3);
      const mask = 1 << (bit & 7);
      bloom[index] = (bloom[index] ?? 0) | mask;
      this.#all[index] = (this.#all[index] ?? 0) | mask;
    }
  }

  /** The bloom of all logs added so far, as DATA. */
  ofBlock(): string {
    return `0x${this.#all.toString("hex")}`;
  }
}

// A cache, because addresses and topics recur in many logs and in following blocks. The last digits of a text, as a
// node wrote it, give its only slot: a Map would hash the whole text, which takes as long as everything else here.

/** Slots in the cache. Full, it takes some 2 MB. */
const SLOTS = 1 << 14;
const textAt: string[] = new Array(SLOTS).fill("");
/** The three bits for each slot; behind the last slot, those of the last text that was not cached. */
const bitsAt = new Uint16Array(3 * (SLOTS + 1));
/** Characters. A longer text than a topic is not cached. */
const LONGEST = 66;
const LAST_DIGITS = 8;

/** The index in `bitsAt` of the text's bits, valid until the next call. */
function findBits(text: string): number {
  let hash = text.length;
  for (let at = Math.max(0, text.length - LAST_DIGITS); at < text.length; at += 1)
    hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  const slot = text.length > LONGEST ? SLOTS : (hash ^ (hash >>> 15)) & (SLOTS - 1);
  if (slot === SLOTS || textAt[slot] !== text) {
    bitsAt.set(bitsOf(text), 3 * slot);
    if (slot < SLOTS) textAt[slot] = text;
  }
  return 3 * slot;
}

/** The three bits that an address or a topic sets. */
function bitsOf(text: string): readonly number[] {
  const hash = keccakBytes(Buffer.from(text.slice(2), "hex"));
  return [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047);
}

/**
 * A test of a block's bloom (DATA): whether the block may have matching logs. False is certain. A bloom does not
 * contain the number of a log's topics.
 */
export function bloomTestOf({ conditions }: LogMatcher): (bloom: string) => boolean {
  const wanted = conditions.map(({ values }) => [...values].map(bitsOf));
  return (bloom) => {
    const bytes = Buffer.from(bloom.slice(2), "hex");
    const isSet = (bit: number): boolean =>
      ((bytes[BYTES - 1 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0;
    const hasLogs = bytes.some((byte) => byte !== 0);
    return hasLogs && wanted.every((forms) => forms.some((bits) => bits.every(isSet)));
  };
}

const BYTES = 256;
const NO_LOGS = `0x${"00".repeat(BYTES)}`;
