// A batch on its way: its members are begun in their order, as many as their answers can be held, and
// answered in their order. What is too large to be held is sent while later members are still to be begun.

import { type AnswerJson, heldBytesOf, lengthOf } from "../jsonrpc/raw-json.ts";
import type { Message } from "../jsonrpc/request.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Turns } from "../lib/turns.ts";
import { commonProvenance } from "./common-provenance.ts";
import type { RequestScope } from "./request-scope.ts";
import { failure, type RpcResponse } from "./response.ts";

export type BatchOptions = {
  /** The most bytes of all answers together. */
  readonly mostBytes: number;
};

export type BatchParts = {
  /** Never rejects. */
  readonly answer: (message: Message) => RpcResponse | Promise<RpcResponse>;
  /** How many bytes the answer will take, as far as can be told. */
  readonly expected: (message: Message) => number;
  readonly saw: (message: Message, bytes: number) => void;
  readonly scope: Pick<RequestScope, "hold" | "restartDeadline">;
  readonly isCalm: () => boolean;
  readonly turns: Pick<Turns, "isOver" | "next">;
};

/** In bytes: what is not larger waits until it is whole, and answers under way are expected to take no more. */
const WORTH_HOLDING = 1 << 20;
/** Members that wait for nodes: more of them would be in the way of the key's other calls. */
const MOST_UNDER_WAY = 200;
/** So many members are begun before it is looked whether it is others' turn. */
const BEGUN_AT_ONCE = 8;

export class Batch {
  readonly #messages: readonly Message[];
  /** Of those that are answered. What was given out is dropped. */
  readonly #replies: (RpcResponse | undefined)[] = [];
  #begun = 0;
  #underWay = 0;
  /** Of the answers under way, as far as can be told, and of those that are here, in bytes. */
  #expectedBytes = 0;
  #heldBytes = 0;
  /** Of all that was given out. */
  #bytes = 0;
  #isOver = false;
  /** It is others' turn. */
  #isPaused = false;
  #wake: () => void = () => undefined;
  readonly #options: BatchOptions;
  readonly #parts: BatchParts;

  constructor(messages: readonly Message[], options: BatchOptions, parts: BatchParts) {
    this.#messages = messages;
    this.#options = options;
    this.#parts = parts;
  }

  /** A batch is 200 whatever its members say. */
  answer(): RpcResponse | Promise<RpcResponse> {
    this.#beginSome();
    return this.#isWhole ? this.#whole() : this.#wholeOrRest();
  }

  async #wholeOrRest(): Promise<RpcResponse> {
    while (!this.#isWhole) {
      if (this.#replies[0] && this.#hasToBeTaken)
        return { status: 200, pieces: [], rest: this.#inTurn() };
      await this.#change();
      this.#beginSome();
    }
    return this.#whole();
  }

  get #isWhole(): boolean {
    return this.#begun === this.#messages.length && this.#underWay === 0;
  }

  /** Nothing more can be begun, or held, before some of it is taken. */
  get #hasToBeTaken(): boolean {
    return (this.#underWay === 0 && !this.#isPaused) || this.#heldBytes > WORTH_HOLDING;
  }

  #whole(): RpcResponse {
    this.#parts.scope.hold("building", -this.#heldBytes);
    const provenance = commonProvenance(this.#replies.map((reply) => reply?.provenance));
    const pieces = this.#messages.flatMap((_, index) => [
      index === 0 ? "[" : ",",
      ...this.#take(index),
    ]);
    return { status: 200, pieces: [...pieces, "]"], provenance };
  }

  async *#inTurn(): AsyncGenerator<readonly AnswerJson[]> {
    const { scope } = this.#parts;
    for (const index of this.#messages.keys()) {
      while (!this.#isOver && !this.#replies[index]) {
        this.#beginSome();
        if (!this.#replies[index]) await this.#change();
      }
      const held = heldBytesOf(this.#replies[index]?.pieces ?? []);
      yield [index === 0 ? "[" : ",", ...this.#take(index)];
      this.#heldBytes -= held;
      scope.hold("building", -held);
      scope.restartDeadline();
    }
    yield ["]"];
  }

  /** The member's answer, or that there is no room for it any more. */
  #take(index: number): readonly AnswerJson[] {
    const pieces = this.#replies[index]?.pieces ?? [];
    this.#replies[index] = undefined;
    const { mostBytes } = this.#options;
    this.#bytes += lengthOf(pieces);
    this.#isOver ||= this.#bytes > mostBytes;
    if (!this.#isOver) return pieces;
    const id = this.#messages[index]?.id ?? "null";
    return [failure(id, errors.batchResponseTooLarge(mostBytes))];
  }

  #beginSome(): void {
    const { answer, expected } = this.#parts;
    while (this.#begun < this.#messages.length && !this.#isOver && !this.#isPaused) {
      const index = this.#begun;
      const message = this.#messages[index] as Message;
      const bytes = expected(message);
      if (!this.#hasRoomFor(bytes)) return;
      this.#begun += 1;
      if (this.#begun % BEGUN_AT_ONCE === 0) this.#letOthersIn();
      const reply = answer(message);
      if (!(reply instanceof Promise)) {
        this.#took(index, reply);
        continue;
      }
      this.#underWay += 1;
      this.#expectedBytes += bytes;
      void reply.then((told) => {
        this.#underWay -= 1;
        this.#expectedBytes -= bytes;
        this.#took(index, told);
        this.#wake();
      });
    }
  }

  #letOthersIn(): void {
    const { turns } = this.#parts;
    if (!turns.isOver) return;
    this.#isPaused = true;
    void turns.next().then(() => {
      this.#isPaused = false;
      this.#wake();
    });
  }

  /** One member is under way at least: so a batch comes to its end. */
  #hasRoomFor(bytes: number): boolean {
    if (this.#underWay === 0 && this.#heldBytes === 0) return true;
    if (this.#underWay >= MOST_UNDER_WAY) return false;
    const isRoom = this.#heldBytes + this.#expectedBytes + bytes <= WORTH_HOLDING;
    return isRoom && this.#parts.isCalm();
  }

  #took(index: number, reply: RpcResponse): void {
    const held = heldBytesOf(reply.pieces);
    this.#replies[index] = reply;
    this.#heldBytes += held;
    this.#parts.scope.hold("building", held);
    this.#parts.saw(this.#messages[index] as Message, held);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
