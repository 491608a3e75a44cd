// One WebSocket of a caller. Each message is a body as in HTTP; its answer is a message of its own, in any order. A few
// messages are answered at once. While others wait, or the caller does not take its answers, no more messages are read.
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { RequestScope } from "../calls/caller.ts";
import type { RpcResponse } from "../calls/response.ts";
import { giveBackLent, heldBytesOf, lengthOf, type RawJson } from "../jsonrpc/raw-json.ts";
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

/** Why a socket is cut off without a close frame: nobody would read it, or a message on the wire cannot be finished in time. */
export type CutReason = "silent" | "flood" | "broken" | "scarce" | "late";

/** A message is answered, or the socket is closed. */
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

/** A ping. Its pong tells that all messages before it arrived. */
type Receipt = {
  readonly number: number;
  readonly sentAtMs: number;
  readonly settle: (arrived: boolean) => void;
};

/** How many messages of one socket are answered at once. */
const AT_ONCE = 64;
/** How many pings and pongs a caller may send between two calls of `tend`. */
const MOST_PINGS = 100;
/** In bytes: while more waits to be read by the caller, its pings are not answered. */
const MOST_UNREAD = 65_536;

export class CallerSocket {
  /** When the caller sent its last message, and when it last sent anything, by the clock's `now`. */
  usedAtMs: number;
  #heardAtMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** The pings whose pongs are awaited, oldest first. */
  readonly #receipts: Receipt[] = [];
  #receiptNumber = 0;
  #pings = 0;
  /** The bytes that the caller had taken at the last look. */
  #taken = 0;
  #isClosing = false;
  readonly #ending = new AbortController();
  readonly #running = new Set<RequestScope>();
  /** Holds no more messages than one read of the connection brings. */
  readonly #waiting: Buffer[] = [];
  /** Keeps the parts of one answer together. */
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
    // `ws` tells the caller what is wrong with a frame in its close frame: 1002, 1007 or 1009.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#end();
        resolve();
      });
    });
  }

  /** Aborts when the socket ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Sends a message that answers no call. @returns Whether it was handed to the network. */
  push(pieces: readonly RawJson[]): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    const message = joined(pieces, lengthOf(pieces));
    return this.#writing.isIdle
      ? this.#write(message)
      : this.#writing.run(() => this.#write(message));
  }

  /**
   * Asks whether all that was sent so far arrived, by a ping: a caller answers it after what came before (RFC 6455 §5.5.3).
   *
   * @returns Whether it arrived; false when the socket ended first.
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

  /** How many messages are being answered, or wait for that. */
  get running(): number {
    return this.#running.size + this.#waiting.length;
  }

  /**
   * Pings a caller that is silent, and cuts off a caller that does not answer.
   *
   * @param pingMs After this much silence the caller is pinged; after as much again it is cut off.
   * @param messageMs A message must be whole after so long.
   */
  tend({ pingMs, messageMs }: { readonly pingMs: number; readonly messageMs: number }): void {
    const { socket, clock, arriving } = this.#parts;
    this.#pings = 0;
    // Nothing is read from this caller now. Whether it takes its answers is checked by `SlowReaders`.
    if (socket.isPaused) return;
    this.#countArriving();
    const now = clock.now();
    const { sentAtMs = now } = this.#receipts[0] ?? {};
    // A caller that never confirms gets no more notifications, so other signs of life do not help.
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

  /** Reads no more messages. Resolves when all messages that were read are answered. */
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
    this.#parts.socket.resume(); // the caller's close frame must be read
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
      // What the answer is made from may disappear while it waits. A caller must not wait for an answer that never comes.
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
    // Without a pause, answers that are ready would follow one another and let no other work run.
    void this.#parts.clock.yield().then(() => {
      const body = this.#waiting.shift();
      if (body) void this.#answer(body);
      if (this.#waiting.length === 0) this.#parts.socket.resume();
    });
  }

  /** @returns Whether the whole answer was handed to the network. */
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

  /** Makes each part of the answer when the caller has taken the part before. @throws When the answer cannot be finished. */
  async #stream(answer: RpcResponse): Promise<boolean> {
    let last: Buffer | undefined;
    try {
      for await (const chunk of answerChunks(answer, this.#parts.turns)) {
        if (last && !(await this.#write(last, false))) return false;
        last = chunk;
      }
      return await this.#write(last ?? Buffer.alloc(0));
    } finally {
      answer.room?.giveBack();
    }
  }

  #write(part: Buffer, fin = true): Promise<boolean> {
    return new Promise((resolve) => {
      this.#parts.socket.send(part, { binary: false, fin }, (error) => {
        giveBackLent(part);
        resolve(!error);
      });
    });
  }

  get #isClosed(): boolean {
    const { socket } = this.#parts;
    return socket.readyState !== socket.OPEN;
  }

  #countArriving(): void {
    if (!this.#parts.arriving.count() && !this.#isClosing) this.#cutFor("scarce");
  }

  /** Whether the caller took some of what waits for it since the last look. A ping would reach it only behind all that. */
  #noteTaken(): boolean {
    const { bytesWritten, writableLength } = this.#parts.connection;
    const before = this.#taken;
    this.#taken = bytesWritten - writableLength;
    return writableLength > 0 && this.#taken > before;
  }

  /** `ws` answers each ping. The answers to a caller that does not read would wait in memory; pongs only cost time. */
  #countPing(): void {
    this.#heardAtMs = this.#parts.clock.now();
    this.#pings += 1;
    // `ws` ends a socket by itself when too many answers wait to be written.
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

  /** A caller may answer only the newest of several pings, which confirms the older ones. */
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
