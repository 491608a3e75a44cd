// One WebSocket of a caller: each message is a body as HTTP takes it, answered in a message of its own, in any order.
// Few are worked on at once; while others wait, or the caller does not take its answers, no more are read.
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { RequestScope } from "../calls/caller.ts";
import type { RpcResponse } from "../calls/response.ts";
import { heldBytesOf, lengthOf, type RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { Turns } from "../lib/turns.ts";
import type { ArrivingMessage } from "./arriving-message.ts";
import { answerChunks, joined, WORTH_JOINING } from "./respond.ts";

/** Why a socket is closed: the code and text of its close frame (RFC 6455 §7.4). */
export const CLOSES = {
  idle: [1001, "idle"],
  unserved: [1001, "this network is not served any more"],
  forbidden: [1008, "a subscription is not allowed any more"],
  noisy: [1008, "too many messages"],
  behind: [1013, "too far behind"],
  binary: [1003, "messages are text"],
  restarting: [1012, "restarting"],
  revoked: [4001, "key revoked"],
  taken: [4002, "a subscription was resumed elsewhere"],
} as const;

export type CloseReason = keyof typeof CLOSES;

/**
 * Why it is cut off without a close frame: nobody would read it, or a message was begun, here or there, that cannot
 * be ended, or does not end in time.
 */
export type CutReason = "silent" | "flood" | "broken" | "scarce" | "late";

/** What becomes of a message: its answer, or the end of the socket. */
export type MessageOutcome = RpcResponse | CloseReason;

/** Made once: an error has a stack. */
const CLOSED = new Error("the socket is closed");

export type CallerSocketParts = {
  readonly socket: WebSocket;
  readonly connection: Pick<Socket, "on" | "bytesWritten" | "writableLength">;
  readonly answer: (body: Buffer, scope: RequestScope) => Promise<MessageOutcome>;
  readonly scope: () => RequestScope;
  readonly arriving: ArrivingMessage;
  readonly clock: Pick<Clock, "now" | "yield">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly onClosing: (why: CloseReason | CutReason) => void;
};

/** A ping that asks whether all before it arrived. */
type Receipt = {
  readonly number: number;
  readonly sentAtMs: number;
  readonly settle: (arrived: boolean) => void;
};

/** Messages of one socket that are worked on at once. */
const AT_ONCE = 64;
/** Pings and pongs that a caller may send between two looks at its socket. */
const MOST_PINGS = 100;
/** In bytes: what a caller may leave of what it is sent before pings are not answered any more. */
const MOST_UNREAD = 65_536;

export class CallerSocket {
  /** When it sent a message last, and anything at all, by the clock. */
  usedAtMs: number;
  #heardAtMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** Pings whose pongs say that all before them arrived, oldest first. */
  readonly #receipts: Receipt[] = [];
  #receiptNumber = 0;
  #pings = 0;
  /** What it had taken at the last look, in bytes. */
  #taken = 0;
  #isClosing = false;
  readonly #ending = new AbortController();
  readonly #running = new Set<RequestScope>();
  /** No more than one read of the connection brings. */
  readonly #waiting: Buffer[] = [];
  /** The parts of one answer follow one another: no other comes between. */
  readonly #writing = new Mutex();
  #whenEmpty: () => void = () => undefined;
  /** Resolves when nothing can be sent any more. */
  readonly closed: Promise<void>;
  readonly #parts: CallerSocketParts;

  constructor(parts: CallerSocketParts) {
    const { socket, clock, connection } = parts;
    this.#parts = parts;
    this.usedAtMs = clock.now();
    this.#heardAtMs = this.usedAtMs;
    socket.on("message", (body: Buffer, isBinary) => this.#take(body, isBinary));
    socket.on("ping", () => this.#countPing());
    socket.on("pong", (data) => this.#hearPong(data));
    connection.on("data", () => this.#countArriving());
    // What is wrong with a frame is in the close frame that `ws` sends: 1002, 1007 or 1009.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#end();
        resolve();
      });
    });
  }

  /** Ends with the socket. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Sends what nobody asked for now. @returns Whether it was handed to the network. */
  push(pieces: readonly RawJson[]): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    const message = joined(pieces, lengthOf(pieces));
    return this.#writing.isIdle
      ? this.#write(message)
      : this.#writing.run(() => this.#write(message));
  }

  /**
   * Asks for a sign that all that was sent so far arrived: a ping, which is answered in its turn (RFC 6455 §5.5.3).
   *
   * @returns Whether it did; false when the socket ended first.
   */
  confirm(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.#receiptNumber += 1;
    const number = this.#receiptNumber;
    this.#parts.socket.ping(String(number));
    return new Promise((settle) => {
      this.#receipts.push({ number, sentAtMs: this.#parts.clock.now(), settle });
    });
  }

  /** Messages that are answered now. */
  get running(): number {
    return this.#running.size + this.#waiting.length;
  }

  /**
   * Asks a caller that was silent for a sign of life, and cuts it off when it gives none.
   *
   * @param pingMs After so long it is asked; after as long again it is cut off.
   * @param messageMs A message that was begun is to be whole after so long.
   */
  tend({ pingMs, messageMs }: { readonly pingMs: number; readonly messageMs: number }): void {
    const { socket, clock, arriving } = this.#parts;
    this.#pings = 0;
    // What it says is not read now: whether it takes its answers is looked at elsewhere.
    if (socket.isPaused) return;
    this.#countArriving();
    const now = clock.now();
    const { sentAtMs = now } = this.#receipts[0] ?? {};
    // What it says otherwise does not help: nothing more is pushed to who never confirms.
    if (now - sentAtMs >= 2 * pingMs && socket.bufferedAmount === 0) this.#cutFor("silent");
    if (this.#noteTaken()) this.#heardAtMs = now;
    if (arriving.isLate(messageMs)) this.#cutFor("late");
    if (now - this.#heardAtMs < pingMs) return;
    if (this.#askedAtMs < this.#heardAtMs) {
      this.#askedAtMs = now;
      socket.ping();
    } else if (now - this.#askedAtMs >= pingMs) {
      this.#cutFor("silent");
    }
  }

  /** Nothing more is read. Resolves when all that was read is answered. */
  async finish(): Promise<void> {
    this.#parts.socket.pause();
    if (this.running > 0)
      await new Promise<void>((resolve) => {
        this.#whenEmpty = resolve;
      });
  }

  close(why: CloseReason): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#ending.abort(CLOSED);
    this.#parts.onClosing(why);
    this.#parts.socket.resume(); // the caller's own close frame is to be read
    const [code, text] = CLOSES[why];
    this.#parts.socket.close(code, text);
  }

  cut(): void {
    this.#parts.socket.terminate();
  }

  #cutFor(why: CutReason): void {
    if (!this.#isClosing) this.#parts.onClosing(why);
    this.#isClosing = true;
    this.cut();
  }

  #take(body: Buffer, isBinary: boolean): void {
    const { clock, socket } = this.#parts;
    this.usedAtMs = clock.now();
    this.#heardAtMs = this.usedAtMs;
    this.#parts.arriving.restart();
    if (this.#isClosing) return;
    if (isBinary) this.close("binary");
    else if (this.#running.size < AT_ONCE) void this.#answer(body);
    else {
      if (this.#waiting.length === 0) socket.pause();
      this.#waiting.push(body);
    }
  }

  async #answer(body: Buffer): Promise<void> {
    const { answer, scope: newScope } = this.#parts;
    const scope = newScope();
    this.#running.add(scope);
    let wasSent = false;
    try {
      const outcome = await answer(body, scope);
      if (typeof outcome === "string") this.close(outcome);
      else if (!this.#isClosed) wasSent = await this.#send(outcome, scope);
    } catch {
      // What an answer is made from may be gone while it waits for its turn: its caller is not left without one.
      this.#cutFor("broken");
    }
    scope.end(wasSent);
    this.#running.delete(scope);
    this.#next();
  }

  #next(): void {
    if (this.#waiting.length === 0) {
      if (this.running === 0) this.#whenEmpty();
      return;
    }
    // Answers that are ready at once would follow one another without a turn for anybody else.
    void this.#parts.clock.yield().then(() => {
      const body = this.#waiting.shift();
      if (body) void this.#answer(body);
      if (this.#waiting.length === 0) this.#parts.socket.resume();
    });
  }

  /** @returns Whether all of it was handed to the network. */
  #send(answer: RpcResponse, scope: RequestScope): Promise<boolean> {
    const bytes = lengthOf(answer.pieces);
    scope.hold("unsent", heldBytesOf(answer.pieces, answer.room));
    const isSmall = !answer.rest && bytes <= WORTH_JOINING;
    const whole = (): Promise<boolean> => {
      const message = joined(answer.pieces, bytes);
      answer.room?.giveBack();
      return this.#write(message);
    };
    if (isSmall && this.#writing.isIdle) return whole();
    return this.#writing.run(() => (isSmall ? whole() : this.#stream(answer)));
  }

  /** As the caller takes it: each part is made when the one before was taken. @throws When it cannot be made to its end. */
  async #stream(answer: RpcResponse): Promise<boolean> {
    let last: Buffer | undefined;
    for await (const chunk of answerChunks(answer, this.#parts.turns)) {
      if (last && !(await this.#write(last, false))) return false;
      last = chunk;
    }
    return this.#write(last ?? Buffer.alloc(0));
  }

  #write(part: Buffer, fin = true): Promise<boolean> {
    return new Promise((resolve) => {
      this.#parts.socket.send(part, { binary: false, fin }, (error) => resolve(!error));
    });
  }

  get #isClosed(): boolean {
    const { socket } = this.#parts;
    return socket.readyState !== socket.OPEN;
  }

  #countArriving(): void {
    if (!this.#parts.arriving.count() && !this.#isClosing) this.#cutFor("scarce");
  }

  /** Whether it took some of what waits for it since the last look: a ping would come to it behind all that. */
  #noteTaken(): boolean {
    const { bytesWritten, writableLength } = this.#parts.connection;
    const before = this.#taken;
    this.#taken = bytesWritten - writableLength;
    return writableLength > 0 && this.#taken > before;
  }

  /** `ws` answers each ping: to who does not read, the answers would wait in memory. Pongs cost time only. */
  #countPing(): void {
    this.#heardAtMs = this.#parts.clock.now();
    this.#pings += 1;
    // `ws` cuts it off by itself when too many answers wait to be written.
    const isCut = this.#isClosed && !this.#isClosing;
    const { bufferedAmount } = this.#parts.socket;
    if (this.#pings <= MOST_PINGS && bufferedAmount <= MOST_UNREAD && !isCut) return;
    this.#cutFor("flood");
  }

  #hearPong(data: Buffer): void {
    this.#heardAtMs = this.#parts.clock.now();
    const before = this.#receipts.length;
    this.#settleReceipts(Number(data.toString("latin1")));
    if (this.#receipts.length === before) this.#countPing();
  }

  /** A caller may answer only the newest of several pings. */
  #settleReceipts(upTo: number): void {
    while ((this.#receipts[0]?.number ?? Number.POSITIVE_INFINITY) <= upTo)
      this.#receipts.shift()?.settle(true);
  }

  #end(): void {
    this.#isClosing = true;
    for (const { settle } of this.#receipts.splice(0)) settle(false);
    this.#ending.abort(CLOSED);
    this.#waiting.length = 0;
    this.#parts.arriving.end();
    for (const scope of this.#running) scope.end(false);
    this.#whenEmpty();
  }
}
