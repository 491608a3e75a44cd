// Reads the elements of a JSON array as values, one after the other. For an object without objects in it, such as a log
// or a transfer, only the runtime's own search and parser look at its bytes.
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET } from "./ascii.ts";
import { skipSpace, skipValue } from "./members.ts";
import { parsed } from "./raw-json.ts";

export class ElementReader {
  /** The last element: its position, its text, and its value; undefined when it is no JSON. */
  start = 0;
  end = 0;
  text = "";
  value: unknown;
  /** The bytes are not one array. It is known when `next` says that there is no further element. */
  isBroken = false;
  /** Where to look for the next element, or the end of the array. */
  #at: number;
  #isFirst = true;
  readonly #json: Buffer;

  constructor(json: Buffer) {
    this.#json = json;
    this.#at = skipSpace(json, 0);
    this.isBroken = json[this.#at] !== OPEN_BRACKET;
  }

  /** Reads the next element. @returns false when there is none. */
  next(): boolean {
    if (this.isBroken) return false;
    const json = this.#json;
    const at = this.#isFirst ? skipSpace(json, this.#at + 1) : this.#at;
    if (json[at] === CLOSE_BRACKET && (this.#isFirst || at === this.#at)) return this.#close(at);
    if (!this.#isFirst && json[at] !== COMMA) return this.#break();
    this.start = this.#isFirst ? at : skipSpace(json, at + 1);
    this.#isFirst = false;
    if (!this.#readFlat() && !this.#readAny()) return this.#break();
    this.#at = skipSpace(json, this.end);
    return true;
  }

  /**
   * If the text up to the first closing brace is an object, it is the element: no JSON value that begins with a brace
   * is the beginning of another one.
   */
  #readFlat(): boolean {
    if (this.#json[this.start] !== OPEN_BRACE) return false;
    this.end = this.#json.indexOf(CLOSE_BRACE, this.start) + 1;
    return this.end > 0 && this.#parse();
  }

  #readAny(): boolean {
    this.end = skipValue(this.#json, this.start);
    if (this.end >= 0) this.#parse();
    return this.end >= 0;
  }

  #parse(): boolean {
    this.text = this.#json.toString("utf8", this.start, this.end);
    this.value = parsed(this.text);
    return this.value !== undefined;
  }

  #close(at: number): false {
    this.isBroken = skipSpace(this.#json, at + 1) < this.#json.length;
    return false;
  }

  #break(): false {
    this.isBroken = true;
    return false;
  }
}
