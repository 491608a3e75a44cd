// One WebSocket of a caller. Each message is a body as in HTTP; answers are messages too, in any order. A few messages
// are answered at once. While others wait for their turn, no more are read.
import { isUtf8 } from "node:buffer";
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
import { takenOf } from "./slow-readers.ts";

/** Why a socket is closed: the code and text of its close frame (RFC 6455 §7.4). */
export const CLOSES = {
  idle: [1001, "idle"],
  unserved: [1001, "this network is not served any more"],
  forbidden: [1008, "a subscription is not allowed any more"],
  noisy: [1008, "too many messages"],
  behind: [1013, "too far behind"],
  notText: [1007, "a message is not UTF-8"],
  restarting: [1012, "restarting"],
  revoked: [4001, "key revoked"],
  taken: [4002, "a subscription was resumed elsewhere"],
} as const;

export type CloseReason = keyof typeof CLOSES;

/** Why a socket is cut off without a close frame: the caller would not read it, or a begun message cannot be finished. */
export type TerminationReason = "silent" | "flood" | "broken" | "scarce" | "late";

/** The answer to a message, or the reason to close the socket. */
type MessageOutcome = RpcResponse | CloseReason;

/** Made once, since each error captures a stack trace. */
const CLOSED = new Error("the socket is closed");

export type CallerSocketParts = {
  readonly socket: WebSocket;
  readonly connection: Socket;
  readonly answer: (body: Buffer, scope: RequestScope) => Promise<MessageOutcome>;
  readonly scope: () => RequestScope;
  readonly arriving: ArrivingMessage;
  readonly clock: Pick<Clock, "now" | "yield">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly onClosing: (why: CloseReason | TerminationReason) => void;
  /** Called for an exception in a callback of the socket; ends the connection. */
  readonly onFailed: (error: unknown) => void;
};

/** A ping. Its pong confirms that all messages before the ping arrived. */
type Receipt = {
  readonly number: number;
  readonly sentAtMs: number;
  readonly settle: (arrived: boolean) => void;
};

/** The most messages of one socket that are answered at once. */
const AT_ONCE = 64;
/**
 * The most pings, and pongs that confirm nothing, that a caller may send between two calls of `checkLiveness`, or until it takes
 * what it left unread.
 */
const MOST_PINGS = 100;
/** In bytes: a caller that leaves more than this unread, and takes nothing, has `MOST_PINGS` pings in all. */
const MOST_UNREAD = 65_536;

export class CallerSocket {
  /** When the caller sent its last message, by the clock's `now`. */
  usedAtMs: number;
  /** When the caller last took some waiting bytes, or none waited. */
  #tookAtMs: number;
  /** The last sign of life: some bytes came, or the caller took some waiting bytes. */
  #heardAtMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** The pings whose pongs are awaited, oldest first. */
  readonly #receipts: Receipt[] = [];
  #receiptNumber = 0;
  #pings = 0;
  /** The bytes that the caller had taken at the last call of `#noteTaken`. */
  #taken = 0;
  #isClosing = false;
  readonly #ending = new AbortController();
  readonly #running = new Set<RequestScope>();
  /** The messages that wait for their turn: at most those of one read, since the socket is paused then. */
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
    this.#tookAtMs = this.usedAtMs;
    socket.on(
      "message",
      this.#guarded((body: Buffer, isBinary: boolean) => this.#take(body, isBinary)),
    );
    socket.on(
      "ping",
      this.#guarded(() => this.#countPing()),
    );
    socket.on(
      "pong",
      this.#guarded((data: Buffer) => this.#hearPong(data)),
    );
    connection.on(
      "data",
      this.#guarded(() => {
        // A client can send no pong within a frame, so each byte of a large message is a sign of life.
        this.#heardAtMs = clock.now();
        this.#countArriving();
      }),
    );
    // `ws` itself tells the caller about a broken frame, in a close frame with the code 1002, 1007 or 1009.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#end();
        resolve();
      });
    });
  }

  /** The callback, whose exception ends this socket alone. */
  #guarded<Given extends readonly unknown[]>(
    callback: (...given: Given) => void,
  ): (...given: Given) => void {
    return (...given) => {
      try {
        callback(...given);
      } catch (error) {
        this.#parts.onFailed(error);
      }
    };
  }

  /** Aborts when the socket ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Sends a message that answers no call, when the caller has taken all earlier ones.
   *
   * @param make Makes the message; called only then. Gives undefined when there is no message any more.
   * @returns Whether the message was handed to the network. Rejects with the exception of `make`.
   */
  push(make: () => readonly RawJson[] | undefined): Promise<boolean> {
    return this.#writing.run(async () => {
      const pieces = this.#isClosed ? undefined : make();
      return pieces !== undefined && this.#write(joined(pieces, lengthOf(pieces)));
    });
  }

  /** Resolves when the network has taken all messages so far. */
  drained(): Promise<void> {
    return this.#writing.idle();
  }

  /**
   * Asks by a ping whether all messages so far arrived: a caller answers the ping after those (RFC 6455 §5.5.3).
   *
   * @returns true when the pong came; false when the socket ended first.
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

  /** The number of messages that are being answered, or wait for their turn. */
  get running(): number {
    return this.#running.size + this.#waiting.length;
  }

  /**
   * Pings a silent caller, cuts off a caller that does not answer, and closes the socket of a caller that takes none of
   * its notifications. To be called every second.
   *
   * @param pingMs After this much silence the caller is pinged; after as much again the socket is cut off. A caller that
   * takes nothing for twice as long is too far behind.
   * @param messageMs The time in which a message must become whole.
   */
  checkLiveness({
    pingMs,
    messageMs,
  }: {
    readonly pingMs: number;
    readonly messageMs: number;
  }): void {
    const { socket, clock, arriving } = this.#parts;
    const now = clock.now();
    const hasTaken = this.#noteTaken();
    // Bytes that arrive, such as pongs, do not show that the caller reads.
    if (this.running === 0 && now - this.#tookAtMs >= 2 * pingMs) this.close("behind");
    if (hasTaken) this.#heardAtMs = now;
    if (hasTaken || socket.bufferedAmount <= MOST_UNREAD) this.#pings = 0;
    // A paused socket reads no signs of life. `SlowReaders` checks whether this caller takes its answers.
    if (socket.isPaused) return;
    this.#countArriving();
    const { sentAtMs = now } = this.#receipts[0] ?? {};
    // A caller that does not confirm gets no more notifications, so other signs of life do not save its socket.
    if (now - sentAtMs >= 2 * pingMs && socket.bufferedAmount === 0) this.#terminateFor("silent");
    if (arriving.isLate(messageMs)) this.#terminateFor("late");
    if (now - this.#heardAtMs < pingMs) return;
    if (this.#askedAtMs < this.#heardAtMs) {
      this.#askedAtMs = now;
      socket.ping();
    } else if (now - this.#askedAtMs >= pingMs) {
      this.#terminateFor("silent");
    }
  }

  /** Stops reading. Resolves when all messages that were read are answered. */
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
    this.#parts.socket.resume(); // else the caller's close frame would not be read
    const [code, text] = CLOSES[why];
    this.#parts.socket.close(code, text);
  }

  terminate(): void {
    this.#parts.socket.terminate();
  }

  #terminateFor(why: TerminationReason): void {
    if (!this.#isClosing) this.#parts.onClosing(why);
    this.#isClosing = true;
    this.terminate();
  }

  #take(body: Buffer, isBinary: boolean): void {
    const { clock, socket } = this.#parts;
    this.usedAtMs = clock.now();
    this.#parts.arriving.restart();
    if (this.#isClosing) return;
    // web3.py sends its calls in binary frames. `ws` itself checks the text of other frames.
    if (isBinary && !isUtf8(body)) this.close("notText");
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
      // The source of an answer may be deleted while it waits. No caller must wait for an answer that never comes.
      this.#terminateFor("broken");
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
    // Without the pause, a row of answers that are ready at once would let no other work run.
    void this.#parts.clock.yield().then(() => {
      const body = this.#waiting.shift();
      if (body) void this.#answer(body);
      if (this.#waiting.length === 0) this.#parts.socket.resume();
    });
  }

  /** @returns Whether the whole answer was handed to the network. */
  #send(answer: RpcResponse, scope: RequestScope): Promise<boolean> {
    const bytes = lengthOf(answer.pieces);
    scope.hold("unsent", heldBytesOf(answer.pieces, answer.buffer));
    const isSmall = !answer.rest && bytes <= WORTH_JOINING;
    const whole = (): Promise<boolean> => {
      const message = joined(answer.pieces, bytes);
      answer.buffer?.giveBack();
      return this.#write(message);
    };
    if (isSmall && this.#writing.isIdle) return whole();
    return this.#writing.run(() => (isSmall ? whole() : this.#stream(answer)));
  }

  /** Makes each part of an answer when the caller took the part before. @throws Error when the source is gone. */
  async #stream(answer: RpcResponse): Promise<boolean> {
    let last: Buffer | undefined;
    try {
      for await (const chunk of answerChunks(answer, this.#parts.turns)) {
        if (last && !(await this.#write(last, false))) return false;
        last = chunk;
      }
      return await this.#write(last ?? Buffer.alloc(0));
    } finally {
      answer.buffer?.giveBack();
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
    if (!this.#parts.arriving.count() && !this.#isClosing) this.#terminateFor("scarce");
  }

  /** Whether the caller took some waiting bytes since the last call. A ping would reach the caller only behind those. */
  #noteTaken(): boolean {
    const { connection } = this.#parts;
    const { writableLength } = connection;
    const before = this.#taken;
    this.#taken = takenOf(connection);
    const hasTaken = writableLength > 0 && this.#taken > before;
    if (hasTaken || writableLength === 0) this.#tookAtMs = this.#parts.clock.now();
    return hasTaken;
  }

  /** Cuts off a flood of pings: `ws` answers each, and answers that the caller does not read would fill the memory. */
  #countPing(): void {
    this.#pings += 1;
    // `ws` itself ends a socket on which too many pongs wait to be written. That is a flood, too.
    const isCut = this.#isClosed && !this.#isClosing;
    if (this.#pings > MOST_PINGS || isCut) this.#terminateFor("flood");
  }

  #hearPong(data: Buffer): void {
    const before = this.#receipts.length;
    this.#settleReceipts(Number(data.toString("latin1")));
    if (this.#receipts.length === before) this.#countPing();
  }

  /** Settles all pings up to a number: a caller may answer only the newest of several (RFC 6455 §5.5.3). */
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
