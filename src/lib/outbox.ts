// Sends operations that must happen once although their replies may be lost. It sends one after the other, and repeats an
// operation under its id until a reply tells that it happened. No other code has to think of lost replies.
import { randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** The other side recognizes a repeated operation by its id. */
export type OperationId = {
  /** The name of one sender, which has one operation under way at a time. */
  readonly slot: string;
  /** Rises from one operation of the slot to the next, from 1. */
  readonly number: number;
  /** How long the other side remembers the slot at least, in milliseconds. */
  readonly keptMs: number;
};

export type OutboxOptions = {
  /** As in `OperationId`. An operation that has no reply after half of it is not repeated any more. */
  readonly keptMs: number;
};

export type OutboxParts<Operation, Answer> = {
  readonly clock: Pick<Clock, "now">;
  /** Rejects when it is not known whether the operation happened. */
  readonly send: (operation: Operation, id: OperationId) => Promise<Answer>;
  /** Called once for each operation that is known to have happened, in their order. */
  readonly onDone: (operation: Operation, answer: Answer) => void;
};

export class Outbox<Operation, Answer> {
  readonly #slot = randomBytes(8).toString("hex");
  #number = 0;
  #unanswered: { readonly operation: Operation; readonly sinceMs: number } | undefined;
  readonly #keptMs: number;
  readonly #parts: OutboxParts<Operation, Answer>;

  constructor({ keptMs }: OutboxOptions, parts: OutboxParts<Operation, Answer>) {
    this.#keptMs = keptMs;
    this.#parts = parts;
  }

  /** The operation that may have happened. */
  get unanswered(): Operation | undefined {
    return this.#unanswered?.operation;
  }

  /**
   * Repeats the unanswered operation, then sends the next one. One call at a time.
   *
   * @param next Makes the next operation, when all before it are known to have happened; undefined: there is none.
   * @throws What `send` threw; the next call begins with the same operation.
   */
  async send(next: () => Operation | undefined): Promise<void> {
    const nowMs = this.#parts.clock.now();
    if (this.#unanswered && nowMs - this.#unanswered.sinceMs >= this.#keptMs / 2)
      this.#unanswered = undefined;
    if (this.#unanswered) await this.#attempt(this.#unanswered.operation);
    const operation = next();
    if (operation === undefined) return;
    this.#number += 1;
    this.#unanswered = { operation, sinceMs: nowMs };
    await this.#attempt(operation);
  }

  async #attempt(operation: Operation): Promise<void> {
    const id = { slot: this.#slot, number: this.#number, keptMs: this.#keptMs };
    const answer = await this.#parts.send(operation, id);
    this.#unanswered = undefined;
    this.#parts.onDone(operation, answer);
  }
}
