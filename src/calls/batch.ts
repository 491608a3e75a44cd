// A batch begins its members in order while there is room for their answers, and answers them in order. When the ready
// answers are too large to be held, the batch sends them before later members begin.

import { COMMA, OPEN_BRACKET } from "../jsonrpc/ascii.ts";
import { type AnswerJson, type BatchResponseBuffer, heldBytesOf } from "../jsonrpc/raw-json.ts";
import type { Message } from "../jsonrpc/request.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Turns } from "../lib/turns.ts";
import type { Provenance } from "../methods/method.ts";
import type { RequestScope } from "./caller.ts";
import { type RpcResponse, refusal } from "./response.ts";

export type BatchOptions = {
  /** The limit for all answers together, in bytes. A member beyond it gets an error. */
  readonly mostBytes: number;
};

export type BatchParts = {
  /** Answers one member. Never rejects. */
  readonly answer: (message: Message) => RpcResponse | Promise<RpcResponse>;
  /** The expected bytes of a member's answer. */
  readonly expected: (message: Message) => number;
  readonly saw: (message: Message, bytes: number) => void;
  readonly scope: Pick<RequestScope, "hold" | "restartDeadline">;
  readonly isCalm: () => boolean;
  /** The chunks of memory that hold the answers of some members. */
  readonly buffer: Pick<BatchResponseBuffer, "bytes" | "giveBack">;
  readonly turns: Pick<Turns, "join" | "next">;
};

/** In bytes: the limit for ready and expected answers together. A batch that holds more is sent before it is whole. */
const WORTH_HOLDING = 1 << 20;
/** The most members that wait for nodes at once. More would delay the key's other calls. */
const MOST_UNDER_WAY = 200;
/** After each so many members the batch gives other long work its turn, if that is due. */
const BEGUN_AT_ONCE = 8;

export class Batch {
  readonly #messages: readonly Message[];
  /** The ready answers by position. `#take` removes them. */
  readonly #responses: (RpcResponse | undefined)[] = [];
  #begun = 0;
  #underWay = 0;
  /** In bytes: the expected size of the answers under way, and the size of the ready answers. */
  #expectedBytes = 0;
  #heldBytes = 0;
  /** In bytes: the size of the buffer. `#heldBytes` counts the answers in the buffer a second time. */
  #bufferBytes = 0;
  /** The bytes of the answers that `#take` returned. */
  #bytes = 0;
  #isOver = false;
  /** Whether other work is due: no member begins until that work had its turn. */
  #isPaused = false;
  #wake: () => void = () => undefined;
  readonly #options: BatchOptions;
  readonly #parts: BatchParts;

  constructor(messages: readonly Message[], options: BatchOptions, parts: BatchParts) {
    this.#messages = messages;
    this.#options = options;
    this.#parts = parts;
  }

  /** Answers the batch. Its status is 200, also when all members fail. */
  answer(): RpcResponse | Promise<RpcResponse> {
    this.#beginSome();
    return this.#isWhole ? this.#whole() : this.#wholeOrRest();
  }

  async #wholeOrRest(): Promise<RpcResponse> {
    while (!this.#isWhole) {
      if (this.#responses[0] && this.#hasToBeTaken)
        return {
          status: 200,
          pieces: [],
          bytes: 0,
          rest: this.#inTurn(),
          buffer: this.#parts.buffer,
        };
      await this.#change();
      this.#beginSome();
    }
    return this.#whole();
  }

  get #isWhole(): boolean {
    return this.#begun === this.#messages.length && this.#underWay === 0;
  }

  /** Whether no further member can begin, or be held, before the caller takes some answers. */
  get #hasToBeTaken(): boolean {
    return (this.#underWay === 0 && !this.#isPaused) || this.#heldBytes > WORTH_HOLDING;
  }

  #whole(): RpcResponse {
    const { scope, buffer } = this.#parts;
    scope.hold("building", -this.#heldBytes - this.#bufferBytes);
    const provenance = commonProvenance(this.#responses.map((response) => response?.provenance));
    const list = new ListOfAnswers();
    let bytes = this.#messages.length + 1; // brackets, and commas
    for (let index = 0; index < this.#messages.length; index += 1) {
      const taken = this.#take(index);
      list.add(taken.pieces);
      bytes += taken.bytes;
    }
    return { status: 200, pieces: list.finish(), bytes, provenance, buffer };
  }

  async *#inTurn(): AsyncGenerator<readonly AnswerJson[]> {
    const { scope } = this.#parts;
    for (const index of this.#messages.keys()) {
      while (!this.#isOver && !this.#responses[index]) {
        this.#beginSome();
        if (!this.#responses[index]) await this.#change();
      }
      const held = heldBytesOf(this.#responses[index]?.pieces ?? []);
      yield [index === 0 ? "[" : ",", ...this.#take(index).pieces];
      this.#heldBytes -= held;
      scope.hold("building", -held);
      scope.restartDeadline();
    }
    yield ["]"];
  }

  /** Removes the member's answer; an error stands for it once the whole batch is too large. */
  #take(index: number): Pick<RpcResponse, "pieces" | "bytes"> {
    const response = this.#responses[index] ?? NOTHING;
    this.#responses[index] = undefined;
    const { mostBytes } = this.#options;
    this.#bytes += response.bytes;
    this.#isOver ||= this.#bytes > mostBytes;
    if (!this.#isOver) return response;
    const id = this.#messages[index]?.id ?? "null";
    return refusal(id, errors.batchResponseTooLarge(mostBytes));
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
      const response = answer(message);
      if (!(response instanceof Promise)) {
        this.#took(index, response);
        continue;
      }
      this.#underWay += 1;
      this.#expectedBytes += bytes;
      void response.then((given) => {
        this.#underWay -= 1;
        this.#expectedBytes -= bytes;
        this.#took(index, given);
        this.#wake();
      });
    }
  }

  #letOthersIn(): void {
    const { turns } = this.#parts;
    if (turns.join() === "on") return;
    this.#isPaused = true;
    void turns.next("first").then(() => {
      this.#isPaused = false;
      this.#wake();
    });
  }

  /** Whether another member may begin. One may always be under way, so that the batch comes to its end. */
  #hasRoomFor(bytes: number): boolean {
    if (this.#underWay === 0 && this.#heldBytes === 0) return true;
    if (this.#underWay >= MOST_UNDER_WAY) return false;
    const isRoom = this.#heldBytes + this.#expectedBytes + bytes <= WORTH_HOLDING;
    return isRoom && this.#parts.isCalm();
  }

  #took(index: number, response: RpcResponse): void {
    const { scope, buffer } = this.#parts;
    const held = heldBytesOf(response.pieces);
    this.#responses[index] = response;
    this.#heldBytes += held;
    scope.hold("building", held + buffer.bytes - this.#bufferBytes);
    this.#bufferBytes = buffer.bytes;
    this.#parts.saw(this.#messages[index] as Message, held);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** The pieces of a JSON array. Elements that lie side by side in memory, with commas between, become one piece. */
class ListOfAnswers {
  readonly #pieces: AnswerJson[] = [];
  #isEmpty = true;
  /** The memory of the current run of elements, and the offsets in it where the run begins and ends. */
  #bytes: Uint8Array = NO_BYTES;
  #start = 0;
  #end = 0;

  add(element: readonly AnswerJson[]): void {
    const [first] = element;
    const mark = this.#isEmpty ? OPEN_BRACKET : COMMA;
    if (element.length === 1 && Buffer.isBuffer(first)) this.#addBytes(first, mark);
    else {
      this.#endRun();
      this.#pieces.push(mark === COMMA ? "," : "[", ...element);
    }
    this.#isEmpty = false;
  }

  #addBytes({ buffer, byteOffset, length }: Buffer, mark: number): void {
    const isHere = buffer === this.#bytes.buffer;
    const bytes = isHere ? this.#bytes : new Uint8Array(buffer);
    const isMarked = bytes[byteOffset - 1] === mark;
    if (!isHere || !isMarked || byteOffset - 1 !== this.#end) {
      this.#endRun();
      if (!isMarked) this.#pieces.push(mark === COMMA ? "," : "[");
      this.#start = isMarked ? byteOffset - 1 : byteOffset;
    }
    this.#bytes = bytes;
    this.#end = byteOffset + length;
  }

  #endRun(): void {
    const { buffer } = this.#bytes;
    if (this.#end > this.#start)
      this.#pieces.push(Buffer.from(buffer, this.#start, this.#end - this.#start));
    this.#bytes = NO_BYTES;
    this.#start = this.#end = 0;
  }

  finish(): AnswerJson[] {
    this.#endRun();
    this.#pieces.push("]");
    return this.#pieces;
  }
}

const NO_BYTES = new Uint8Array(0);

/** The answer of a member that never began. */
const NOTHING: Pick<RpcResponse, "pieces" | "bytes"> = { pieces: [], bytes: 0 };

const PROOFS = ["none", "partial", "full"] as const;

/** The provenance of a batch: the source that all members share, the weakest proof, and the newest block. */
export function commonProvenance(all: readonly (Provenance | undefined)[]): Provenance | undefined {
  let [local, block, staleMs]: [Provenance?, Provenance["block"]?, number?] = [];
  let proof: number = PROOFS.length;
  let [isStored, isCut] = [true, false];
  for (const each of all) {
    if (!each) continue;
    if (each.staleMs !== undefined) staleMs = Math.max(staleMs ?? 0, each.staleMs);
    if (each.source === "local") {
      local ??= each;
      continue;
    }
    proof = Math.min(proof, PROOFS.indexOf(each.proof ?? "none"));
    isStored &&= each.source === "store";
    isCut ||= each.isCut === true;
    if (each.block && (!block || each.block.number > block.number)) block = each.block;
  }
  if (proof === PROOFS.length) return local;
  const source = isStored ? "store" : "upstream";
  const common = { source, proof: PROOFS[proof] ?? "none", block, isCut } as const;
  return staleMs === undefined ? common : { ...common, staleMs };
}

/** The expected bytes of a method's first answer, by its price in compute units. */
const FIRST_GUESSES: readonly { readonly below: number; readonly bytes: number }[] = [
  { below: 4, bytes: 16_384 },
  { below: 10, bytes: 65_536 },
  { below: Number.POSITIVE_INFINITY, bytes: 262_144 },
];
const guessFor = (computeUnits: number): number =>
  FIRST_GUESSES.find(({ below }) => computeUnits < below)?.bytes ?? 0;

/** Each answer moves the mean by this part of its difference from the mean. */
const MEAN_WEIGHT = 1 / 8;
/** The most methods whose sizes are kept: callers may invent names where the allow list has open patterns. */
const MOST_METHODS = 500;

/** The mean length of a method's answers, in bytes. */
type AnswerSize = { readonly method: string; mean: number };

/** Predicts the size of a method's next answer from the answers before it. */
export class AnswerSizes {
  readonly #ofMethods = new Map<string, AnswerSize>();
  /** The entry of the method that was looked up last. */
  #last: AnswerSize | undefined;

  /** @param priceOf In compute units; called only before the method's first answer. @returns The expected bytes. */
  expected(method: string, priceOf: (method: string) => number): number {
    return this.#of(method)?.mean ?? guessFor(priceOf(method));
  }

  saw(method: string, bytes: number): void {
    const size = this.#of(method);
    if (size) size.mean += (bytes - size.mean) * MEAN_WEIGHT;
    else if (this.#ofMethods.size < MOST_METHODS)
      this.#ofMethods.set(method, { method, mean: bytes });
  }

  #of(method: string): AnswerSize | undefined {
    if (this.#last?.method !== method) this.#last = this.#ofMethods.get(method);
    return this.#last;
  }
}
