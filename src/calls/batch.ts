// A batch: its members are begun in their order while there is room for their answers, and are answered in their order.
// When the answers that are ready are too large to be held, the batch sends them while later members still have to begin.

import { COMMA, OPEN_BRACKET } from "../jsonrpc/ascii.ts";
import { type AnswerJson, type AnswerRoom, heldBytesOf } from "../jsonrpc/raw-json.ts";
import type { Message } from "../jsonrpc/request.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Turns } from "../lib/turns.ts";
import type { Provenance } from "../methods/method.ts";
import type { RequestScope } from "./caller.ts";
import { type RpcResponse, refusal } from "./response.ts";

export type BatchOptions = {
  /** The most bytes that all answers have together. */
  readonly mostBytes: number;
};

export type BatchParts = {
  /** Never rejects. */
  readonly answer: (message: Message) => RpcResponse | Promise<RpcResponse>;
  /** The bytes that the answer is expected to take. */
  readonly expected: (message: Message) => number;
  readonly saw: (message: Message, bytes: number) => void;
  readonly scope: Pick<RequestScope, "hold" | "restartDeadline">;
  readonly isCalm: () => boolean;
  /** The chunks of memory that answers of members are written into. */
  readonly room: Pick<AnswerRoom, "bytes" | "giveBack">;
  readonly turns: Pick<Turns, "join" | "next">;
};

/** In bytes. A batch waits until it is whole while it holds no more; the answers under way are expected to take no more. */
const WORTH_HOLDING = 1 << 20;
/** The members that may wait for nodes at once. More of them would delay the key's other calls. */
const MOST_UNDER_WAY = 200;
/** After so many members the batch looks whether other work is due. */
const BEGUN_AT_ONCE = 8;

export class Batch {
  readonly #messages: readonly Message[];
  /** The answers of members. An answer that was given out is dropped. */
  readonly #responses: (RpcResponse | undefined)[] = [];
  #begun = 0;
  #underWay = 0;
  /** In bytes: the expected size of the answers under way, and the size of those that are ready. */
  #expectedBytes = 0;
  #heldBytes = 0;
  /** In bytes: the size of the room, some of which `#heldBytes` counts as well. */
  #roomBytes = 0;
  /** The bytes that were given out. */
  #bytes = 0;
  #isOver = false;
  /** Other work is due: no member is begun until it had its turn. */
  #isPaused = false;
  #wake: () => void = () => undefined;
  readonly #options: BatchOptions;
  readonly #parts: BatchParts;

  constructor(messages: readonly Message[], options: BatchOptions, parts: BatchParts) {
    this.#messages = messages;
    this.#options = options;
    this.#parts = parts;
  }

  /** The status of a batch is 200, whatever its members say. */
  answer(): RpcResponse | Promise<RpcResponse> {
    this.#beginSome();
    return this.#isWhole ? this.#whole() : this.#wholeOrRest();
  }

  async #wholeOrRest(): Promise<RpcResponse> {
    while (!this.#isWhole) {
      if (this.#responses[0] && this.#hasToBeTaken)
        return { status: 200, pieces: [], bytes: 0, rest: this.#inTurn(), room: this.#parts.room };
      await this.#change();
      this.#beginSome();
    }
    return this.#whole();
  }

  get #isWhole(): boolean {
    return this.#begun === this.#messages.length && this.#underWay === 0;
  }

  /** No further member can be begun, or held, before the caller takes some answers. */
  get #hasToBeTaken(): boolean {
    return (this.#underWay === 0 && !this.#isPaused) || this.#heldBytes > WORTH_HOLDING;
  }

  #whole(): RpcResponse {
    const { scope, room } = this.#parts;
    scope.hold("building", -this.#heldBytes - this.#roomBytes);
    const provenance = commonProvenance(this.#responses.map((response) => response?.provenance));
    const list = new ListOfAnswers();
    let bytes = this.#messages.length + 1; // brackets, and commas
    for (let index = 0; index < this.#messages.length; index += 1) {
      const taken = this.#take(index);
      list.add(taken.pieces);
      bytes += taken.bytes;
    }
    return { status: 200, pieces: list.finish(), bytes, provenance, room };
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

  /** The member's answer; an error where the whole batch has become too large. */
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

  /** One member may always be under way, so that a batch comes to its end. */
  #hasRoomFor(bytes: number): boolean {
    if (this.#underWay === 0 && this.#heldBytes === 0) return true;
    if (this.#underWay >= MOST_UNDER_WAY) return false;
    const isRoom = this.#heldBytes + this.#expectedBytes + bytes <= WORTH_HOLDING;
    return isRoom && this.#parts.isCalm();
  }

  #took(index: number, response: RpcResponse): void {
    const { scope, room } = this.#parts;
    const held = heldBytesOf(response.pieces);
    this.#responses[index] = response;
    this.#heldBytes += held;
    scope.hold("building", held + room.bytes - this.#roomBytes);
    this.#roomBytes = room.bytes;
    this.#parts.saw(this.#messages[index] as Message, held);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** The pieces of a JSON array. Elements that follow one another in memory, with commas between them, become one piece. */
class ListOfAnswers {
  readonly #pieces: AnswerJson[] = [];
  #isEmpty = true;
  /** The memory of the last elements, and where in it they begin and end. */
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

/** Stands for the answer of a member that was not begun. */
const NOTHING: Pick<RpcResponse, "pieces" | "bytes"> = { pieces: [], bytes: 0 };

const PROOFS = ["none", "partial", "full"] as const;

/** The source that all members share, the weakest proof, and the newest block. */
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

/** The expected bytes of an answer, by the price of its method, until an answer of the method was seen. */
const FIRST_GUESSES: readonly { readonly below: number; readonly bytes: number }[] = [
  { below: 4, bytes: 16_384 },
  { below: 10, bytes: 65_536 },
  { below: Number.POSITIVE_INFINITY, bytes: 262_144 },
];
const guessFor = (computeUnits: number): number =>
  FIRST_GUESSES.find(({ below }) => computeUnits < below)?.bytes ?? 0;

/** Each answer moves the mean by this part of the difference. */
const MEAN_WEIGHT = 1 / 8;
/** Callers may invent method names where patterns are open, so no more of them are remembered. */
const MOST_METHODS = 500;

/** The mean of a method's answers, in bytes. */
type AnswerSize = { readonly method: string; mean: number };

/** Guesses how large the next answer of a method is from the answers before it. */
export class AnswerSizes {
  readonly #ofMethods = new Map<string, AnswerSize>();
  /** Of the method that was looked for last. */
  #last: AnswerSize | undefined;

  /** @param priceOf In compute units; called only while no answer of the method was seen. @returns Bytes. */
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
