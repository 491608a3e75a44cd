// Sends operations that must happen once although their replies may be lost. The outbox sends one operation after the
// other, and repeats an operation under its id until a reply confirms it. No other code has to think of lost replies.
import { randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** The receiver recognizes a repeated operation by this id. */
export type OperationId = {
  /** The name of one sender; a sender has one operation under way at a time. */
  readonly slot: string;
  /** Counts the operations of the slot, from 1. */
  readonly number: number;
  /** The shortest time for which the receiver remembers the slot, in milliseconds. */
  readonly keptMs: number;
};

export type OutboxOptions = {
  /** As in `OperationId`. The outbox drops an operation that has no reply after half of this time. */
  readonly keptMs: number;
};

export type OutboxParts<Operation, Answer> = {
  readonly clock: Pick<Clock, "now">;
  /** Sends one operation. Rejects when the sender cannot know whether the operation happened. */
  readonly send: (operation: Operation, id: OperationId) => Promise<Answer>;
  /** Called once for each confirmed operation, in the order of the operations. */
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

  /** The operation that was sent and not confirmed: it may have happened. */
  get unanswered(): Operation | undefined {
    return this.#unanswered?.operation;
  }

  /**
   * Repeats the unanswered operation, then sends the next one. The caller makes one call of `send` at a time.
   *
   * @param next Makes the next operation, once no earlier one is unanswered; undefined: there is no operation to send.
   * @throws The error of `OutboxParts.send`; the next call begins with the same operation.
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
