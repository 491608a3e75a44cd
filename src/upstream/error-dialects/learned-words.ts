// Words of refusals that no table has, and that the gateway has learned by asking another node: what varies from call
// to call is left out of them.
import { keepNewest } from "../../lib/keep-newest.ts";

/** The part of a refusal that is learned. */
export type RefusalWords = { readonly code: number; readonly message: string };

/** By method, then the words. */
export type LearnedRecord = readonly (readonly [method: string, words: string])[];

/** The characters of a message that are read, and of the words that are kept. */
const LONGEST = { message: 400, words: 120 };
/** The most wordings of one method, and of all methods: a node that invents words must not fill the memory. */
const MOST = { ofMethod: 8, inAll: 64 };

/** A code and words without numbers, hashes, addresses and URLs; undefined where too little is left to be known by. */
export function wordsOf({ code, message }: RefusalWords): string | undefined {
  const words = message
    .slice(0, LONGEST.message)
    .toLowerCase()
    .replace(/\bhttps?:\/\/\S+/g, "#")
    .replace(/0x[0-9a-f]*|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d[\d.,_]*/g, "#")
    .replace(/[^\x21-\x7e]+/g, " ")
    .trim()
    .slice(0, LONGEST.words);
  return /[a-z]{3}/.test(words) ? `${code} ${words}` : undefined;
}

export class LearnedWords {
  /** By method and words: the time of learning. At most `MOST.inAll`, oldest first. */
  readonly #sinceMs = new Map<string, number>();
  readonly #livesMs: number;
  readonly #clock: { now(): number };

  /** @param options.livesMs How long words are remembered. */
  constructor(options: { readonly livesMs: number }, parts: { readonly clock: { now(): number } }) {
    this.#livesMs = options.livesMs;
    this.#clock = parts.clock;
  }

  has(method: string, refusal: RefusalWords): boolean {
    if (this.#sinceMs.size === 0) return false;
    const words = wordsOf(refusal);
    const sinceMs = words === undefined ? undefined : this.#sinceMs.get(`${method} ${words}`);
    return sinceMs !== undefined && this.#clock.now() - sinceMs < this.#livesMs;
  }

  /** @returns Whether the words are new. */
  remember(method: string, refusal: RefusalWords): boolean {
    const words = wordsOf(refusal);
    if (words === undefined) return false;
    return this.#keep(method, words);
  }

  forget(method: string, refusal: RefusalWords): void {
    this.#sinceMs.delete(`${method} ${wordsOf(refusal)}`);
  }

  forgetAll(): void {
    this.#sinceMs.clear();
  }

  toRecord(): LearnedRecord {
    return [...this.#sinceMs.keys()].map((key) => {
      const at = key.indexOf(" ");
      return [key.slice(0, at), key.slice(at + 1)];
    });
  }

  restore(record: LearnedRecord): void {
    for (const [method, words] of record) this.#keep(method, words);
  }

  #keep(method: string, words: string): boolean {
    const key = `${method} ${words}`;
    const isNew = !this.#sinceMs.has(key);
    const ofMethod = [...this.#sinceMs.keys()].filter((name) => name.startsWith(`${method} `));
    if (isNew && ofMethod.length >= MOST.ofMethod) this.#sinceMs.delete(ofMethod[0] as string);
    keepNewest(this.#sinceMs, [key, this.#clock.now()], MOST.inAll);
    return isNew;
  }
}
