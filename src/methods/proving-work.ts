// What it takes to prove the logs of a range, and which range would take no more than a call may ask. Pure.
import { toQuantity } from "../evm/values.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { LogRange } from "./log-range.ts";

export type ProvingOptions = {
  readonly range: LogRange;
  /** How many questions may be asked. */
  readonly most: number;
  /** How many the call had from the beginning. */
  readonly limit: number;
};

/** A proposed range takes this share of what is allowed: elsewhere more blocks may have logs that match. */
export const SHARE = 0.75;

/** What a block costs beside its header, where nothing is known of how many have logs that match. */
const FETCHED = 2;

export class ProvingWork {
  readonly #options: ProvingOptions;
  /** Questions: for all headers, and for where the last one comes from. */
  #headers = 0;
  /** Blocks of the range whose headers are known, and the questions that their receipts take. */
  #seen = 0;
  #blocks = 0;

  constructor(options: ProvingOptions) {
    this.#options = options;
  }

  /** @throws RpcError `rangeTooCostly` */
  plan(headers: number): void {
    this.#headers += headers;
    this.#check();
  }

  /** @param questions 0 for a block without logs that match. @throws RpcError `rangeTooCostly` */
  saw(questions: number): void {
    this.#seen += 1;
    this.#blocks += questions;
    this.#check();
  }

  /** What is thrown when nodes had to be asked again so often that the questions did not do. */
  usedUp(): RpcError {
    return this.#tooCostly(0.5);
  }

  #check(): void {
    if (this.#headers + this.#blocks > this.#options.most) throw this.#tooCostly(SHARE);
  }

  #tooCostly(share: number): RpcError {
    const { range, most, limit } = this.#options;
    const each = 1 + (this.#seen === 0 ? FETCHED : this.#blocks / this.#seen);
    const width = Math.min((most * share) / each, (range.to - range.from) * share);
    const to = range.from + Math.max(1, Math.floor(width)) - 1;
    return errors.rangeTooCostly(limit, { from: toQuantity(range.from), to: toQuantity(to) });
  }
}
