// The filter over the addresses and topics of logs, as receipts and headers carry it (Yellow Paper, 4.3.1).
import { keccakBytes } from "../evm/keccak.ts";
import { eachInSteps, type Work } from "../lib/long-work.ts";
import { isJson, type Json } from "./json.ts";

/** The blooms of one block: what occurs in several logs is hashed once. */
export class BlockBloom {
  /** By address or topic, each as the node wrote it: the three bits it sets. */
  readonly #bitsByText = new Map<string, readonly number[]>();
  readonly #all = Buffer.alloc(BYTES);

  /** Adds the logs of a receipt; their own bloom as DATA. */
  *add(logs: unknown): Work<string> {
    if (!Array.isArray(logs) || logs.length === 0) return NO_LOGS;
    const bloom = Buffer.alloc(BYTES);
    yield* eachInSteps(logs, (log) => this.#addLog(log, bloom));
    return `0x${bloom.toString("hex")}`;
  }

  #addLog(log: unknown, bloom: Buffer): void {
    const { address, topics } = isJson(log) ? log : ({} as Json);
    for (const text of [address, ...(Array.isArray(topics) ? topics : [])])
      for (const bit of this.#bitsOf(text)) {
        const index = BYTES - 1 - (bit >> 3);
        const mask = 1 << (bit & 7);
        bloom[index] = (bloom[index] ?? 0) | mask;
        this.#all[index] = (this.#all[index] ?? 0) | mask;
      }
  }

  /** That of all logs added so far. */
  ofBlock(): string {
    return `0x${this.#all.toString("hex")}`;
  }

  #bitsOf(text: unknown): readonly number[] {
    if (typeof text !== "string") return [];
    const known = this.#bitsByText.get(text);
    if (known) return known;
    const hash = keccakBytes(Buffer.from(text.slice(2), "hex"));
    const bits = [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047);
    this.#bitsByText.set(text, bits);
    return bits;
  }
}

/** Whether a bloom tells of a log that is not there. */
export function hasBitsBeyond(stated: unknown, computed: string): boolean {
  if (typeof stated !== "string") return false;
  const bits = Buffer.from(computed.slice(2), "hex");
  return Buffer.from(stated.slice(2), "hex").some(
    (byte, index) => (byte & ~(bits[index] ?? 0)) !== 0,
  );
}

const BYTES = 256;
const NO_LOGS = `0x${"00".repeat(BYTES)}`;
