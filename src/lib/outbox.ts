// Operations that must happen once although their answers may be lost: one after the other, and the one
// whose outcome nobody told is repeated under its id until it is known. Only here "it may have happened".
import { randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** Under which the other side knows a repetition. */
export type OperationId = {
  /** Of one sender alone, which has one operation under way at a time. */
  readonly slot: string;
  /** Rises from one operation of the slot to the next, from 1. */
  readonly number: number;
  /** For so long after it the other side remembers the slot at least, in milliseconds. */
  readonly keptMs: number;
};

export type OutboxOptions = {
  /** See `OperationId`. What nobody answered for half of it is not repeated any more. */
  readonly keptMs: number;
};

export type OutboxParts<Operation, Answer> = {
  readonly clock: Pick<Clock, "now">;
  /** Rejects when nobody can tell whether it happened. */
  readonly send: (operation: Operation, id: OperationId) => Promise<Answer>;
  /** Told once of each operation that is known to have happened, in their order. */
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

  /** What may have happened or not. */
  get unanswered(): Operation | undefined {
    return this.#unanswered?.operation;
  }

  /**
   * Repeats what is unanswered, then sends what `next` makes. One call at a time.
   *
   * @param next Called when everything before it is known; undefined when there is nothing more to send.
   * @throws What `send` threw; the same operation goes first the next time.
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
