// Reads one JSON array from chunks that are cut anywhere, an element at a time.

import { CLOSE_BRACKET, COMMA, isSpace } from "./ascii.ts";
import { GrowingBytes } from "./element-stream-bytes.ts";
import { BROKEN, MORE, ValueScanner } from "./element-stream-value.ts";

type Place = "behind bracket" | "behind comma" | "in element" | "behind element" | "skipping";

export class ArrayReader {
  readonly #onElement: (element: unknown) => boolean;
  readonly #maxElementBytes: number;
  /** Of the element that earlier chunks began, what they held; empty for one that began in this chunk. */
  readonly #begun: GrowingBytes;
  readonly #value = new ValueScanner();
  #isWanted = true;
  #place: Place = "behind bracket";

  constructor(
    options: { readonly maxElementBytes: number },
    onElement: (element: unknown) => boolean,
  ) {
    this.#maxElementBytes = options.maxElementBytes;
    this.#begun = new GrowingBytes(options.maxElementBytes);
    this.#onElement = onElement;
  }

  /** What it takes in memory, in bytes. */
  get heldBytes(): number {
    return this.#begun.heldBytes;
  }

  /** To be called behind the opening bracket of each array. */
  begin(): void {
    if (this.#isWanted) this.#place = "behind bracket";
    else this.#skip();
  }

  /** The place behind the array, MORE or BROKEN. */
  read(chunk: Buffer, from: number): number {
    let at = from;
    while (at >= 0 && at < chunk.length) {
      if (this.#place === "skipping") return this.#value.scan(chunk, at);
      const byte = chunk[at] ?? 0;
      if (this.#place === "in element") {
        at = this.#readElement(chunk, at);
      } else if (isSpace(byte)) {
        at += 1;
      } else if (byte === CLOSE_BRACKET && this.#place !== "behind comma") {
        return at + 1;
      } else if (this.#place === "behind element") {
        if (byte !== COMMA) return BROKEN;
        this.#place = "behind comma";
        at += 1;
      } else {
        if (!this.#value.begin(byte)) return BROKEN;
        this.#place = "in element";
      }
    }
    return at < 0 ? at : MORE;
  }

  #readElement(chunk: Buffer, from: number): number {
    const end = this.#value.scan(chunk, from);
    if (end === BROKEN) return BROKEN;
    if (end === MORE) return this.#begun.append(chunk, from, chunk.length) ? MORE : BROKEN;
    const text = this.#takeText(chunk, from, end);
    if (text === undefined) return BROKEN;
    let element: unknown;
    try {
      element = JSON.parse(text);
    } catch {
      return BROKEN;
    }
    this.#isWanted = this.#onElement(element);
    if (this.#isWanted) this.#place = "behind element";
    else this.#skip();
    return end;
  }

  /** undefined when the element is too large. */
  #takeText(chunk: Buffer, from: number, end: number): string | undefined {
    if (this.#begun.length === 0) {
      return end - from > this.#maxElementBytes ? undefined : chunk.toString("utf8", from, end);
    }
    if (!this.#begun.append(chunk, from, end)) return undefined;
    const text = this.#begun.view().toString("utf8");
    this.#begun.clear();
    return text;
  }

  #skip(): void {
    this.#value.beginInArray();
    this.#place = "skipping";
  }
}
