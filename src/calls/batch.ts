// A batch on its way: its members are begun in their order, as many as their answers can be held, and
// answered in their order. What is too large to be held is sent while later members are still to be begun.

import { COMMA, OPEN_BRACKET } from "../jsonrpc/ascii.ts";
import { type AnswerJson, type AnswerRoom, heldBytesOf } from "../jsonrpc/raw-json.ts";
import type { Message } from "../jsonrpc/request.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Turns } from "../lib/turns.ts";
import type { Provenance } from "../methods/method.ts";
import type { RequestScope } from "./caller.ts";
import { type RpcResponse, refusal } from "./response.ts";

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
  /** Where answers may lie. */
  readonly room: Pick<AnswerRoom, "bytes" | "giveBack">;
  readonly turns: Pick<Turns, "join" | "next">;
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
  readonly #responses: (RpcResponse | undefined)[] = [];
  #begun = 0;
  #underWay = 0;
  /** Of the answers under way, as far as can be told, and of those that are here, in bytes. */
  #expectedBytes = 0;
  #heldBytes = 0;
  /** What their room takes, in bytes: some of it twice. */
  #roomBytes = 0;
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

  /** Nothing more can be begun, or held, before some of it is taken. */
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

  /** The member's answer, or that there is no room for it any more. */
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

  /** One member is under way at least: so a batch comes to its end. */
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

/** The pieces of a JSON array; elements that lie one behind the other, with commas between them, are one piece. */
class ListOfAnswers {
  readonly #pieces: AnswerJson[] = [];
  #isEmpty = true;
  /** The bytes that the last elements lie in, and where. */
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

/** Of a member that was not begun. */
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

/** Of a method that nothing came of yet, in bytes, by what it costs. */
const FIRST_GUESSES: readonly { readonly below: number; readonly bytes: number }[] = [
  { below: 4, bytes: 16_384 },
  { below: 10, bytes: 65_536 },
  { below: Number.POSITIVE_INFINITY, bytes: 262_144 },
];
const guessFor = (computeUnits: number): number =>
  FIRST_GUESSES.find(({ below }) => computeUnits < below)?.bytes ?? 0;

/** Each answer moves the mean by so much of the difference. */
const MEAN_WEIGHT = 1 / 8;
/** Callers may invent names where patterns are open: more are not remembered. */
const MOST_METHODS = 500;

/** How large answers are, by method: what is about to come is guessed from what came. */
export class AnswerSizes {
  readonly #meanByMethod = new Map<string, number>();

  /**
   * In bytes.
   *
   * @param computeUnits What a call of it costs: asked for only where nothing came yet.
   */
  expected(method: string, computeUnits: () => number): number {
    return this.#meanByMethod.get(method) ?? guessFor(computeUnits());
  }

  saw(method: string, bytes: number): void {
    const mean = this.#meanByMethod.get(method);
    if (mean !== undefined) this.#meanByMethod.set(method, mean + (bytes - mean) * MEAN_WEIGHT);
    else if (this.#meanByMethod.size < MOST_METHODS) this.#meanByMethod.set(method, bytes);
  }
}
