// The JSON of a `vmTrace`, in pieces. What is known of an operation before it is over comes first, so
// that what it enters can be written while that runs.
import type { Executed } from "./executed-operation.ts";

export type TextOptions = { readonly maxBytes: number };
export type TextParts = { readonly write: (json: string) => void };

/** Takes checked hex only. */
export class VmTraceText {
  readonly #options: TextOptions;
  readonly #parts: TextParts;
  #bytes = 0;
  /** Whether the frame that is open has an operation. */
  #hasOperation = false;

  constructor(options: TextOptions, parts: TextParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Then nothing of what was too much was written. */
  isTooLarge(): boolean {
    return this.#bytes > this.#options.maxBytes;
  }

  beginFrame(code: string): void {
    this.#write(`{"code":"${code}","ops":[`);
    this.#hasOperation = false;
  }

  endFrame(): void {
    this.#write("]}");
    this.#hasOperation = true;
  }

  /** One that enters a frame, which is written next. */
  beginOperation(pc: number): void {
    this.#write(this.#beginning(pc));
  }

  endOperation({ cost, ex }: Executed): void {
    this.#write(ending(cost, ex));
  }

  /** One that did not enter a frame with steps. */
  operation(pc: number, { sub, cost, ex }: Executed): void {
    this.#write(this.#beginning(pc) + JSON.stringify(sub) + ending(cost, ex));
    this.#hasOperation = true;
  }

  #beginning(pc: number): string {
    return `${this.#hasOperation ? "," : ""}{"pc":${pc},"sub":`;
  }

  #write(json: string): void {
    this.#bytes += json.length; // all of it is ASCII
    if (!this.isTooLarge()) this.#parts.write(json);
  }
}

const ending = (cost: number, ex: Executed["ex"]): string =>
  `,"cost":${cost},"ex":${JSON.stringify(ex)}}`;
